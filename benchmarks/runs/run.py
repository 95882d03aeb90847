"""Running a benchmark: what is missing is carried out, judged and written down."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.library.library import ROOT, Library
from benchmarks.runs.cluster import connect, run_on_cluster
from benchmarks.runs.execute import Outcome, execute
from benchmarks.runs.judge import judge
from benchmarks.runs.local import Execute, run_here
from benchmarks.runs.progress import RunProgress
from benchmarks.runs.rows import Row, RowFile
from benchmarks.runs.specs import RunSpec
from qpopt import Instance
from qpopt.io import replacing

ROWS = "rows.csv"


def run(
    specs: Sequence[RunSpec],
    out: Path,
    *,
    library: Library,
    jobs: int = 1,
    grace: float = 10.0,
    scheduler: str | None = None,
    rerun: bool = False,
    progress: bool = False,
    carry_out: Execute = execute,
) -> list[Row]:
    """Carry out the runs that the results folder does not have yet.

    Parameters
    ----------
    specs
        All runs of the benchmark.
    out
        The results folder: `rows.csv`, and beside it `traces` and `solutions`, a file a run.
    library
        Where the instances come from.
    jobs
        How many runs at a time, on this machine.
    grace
        Seconds beyond the time limit before a run is ended.
    scheduler
        The address of a dask scheduler; its workers carry out the runs then.
    rerun
        Carry out all runs, also those that the folder has.
    progress
        Show a bar with the expected remaining time where there is a terminal.
    carry_out
        Carries out one run.

    Returns
    -------
    list
        The new rows.

    Raises
    ------
    BenchmarkError
        If the folder is in use or of another version, or the cluster cannot be reached.
    """
    rows = RowFile(out / ROWS)
    new: list[Row] = []
    with rows.writing():
        done = set() if rerun else {row.key for row in rows.read()}
        pending = [spec for spec in specs if spec.key not in done]
        where = "" if library.root == ROOT else str(library.root.resolve())
        one = partial(carry_out, grace=grace, library=where)
        instances = _Instances(library)
        with (
            connect(scheduler) if scheduler else nullcontext() as client,
            closing(_outcomes(pending, one, jobs, client)) as outcomes,
            RunProgress(pending, _capacity(client, jobs), shown=progress) as bar,
        ):
            for spec, outcome in outcomes:
                if outcome.ended == "stopped":
                    continue
                entry = library.entry(spec.instance)
                row = judge(spec, entry, instances[spec.instance], outcome)
                _keep(out, spec, outcome)
                rows.append(row)
                new.append(row)
                bar.finished(spec, row)
    return new


class _Instances:
    """Instances as the judge needs them, the last one kept: runs come instance by instance."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.name = ""
        self.instance: Instance | None = None

    def __getitem__(self, name: str) -> Instance:
        if self.instance is None or name != self.name:
            self.name, self.instance = name, self.library.instance(name)
        return self.instance


def _outcomes(
    specs: Sequence[RunSpec], one: Execute, jobs: int, client: Any
) -> Generator[tuple[RunSpec, Outcome], None, None]:
    if client is None:
        return run_here(specs, one, jobs=jobs)
    return run_on_cluster(specs, one, client)


def _capacity(client: Any, jobs: int) -> int:
    return jobs if client is None else max(1, sum(client.nthreads().values()))


def _keep(out: Path, spec: RunSpec, outcome: Outcome) -> None:
    """Write trace and solution before the row, so that a row never lacks them."""
    for folder, text in (
        ("traces", _lines(outcome.trace)),
        ("solutions", outcome.solution),
    ):
        (out / folder).mkdir(parents=True, exist_ok=True)
        suffix = "jsonl" if folder == "traces" else "json"
        path = out / folder / f"{spec.key}.{suffix}"
        if text:
            with replacing(path) as stream:
                stream.write(text.encode())
        else:
            path.unlink(missing_ok=True)


def _lines(points: Iterable[Sequence[float | None]]) -> str:
    return "".join(json.dumps(point) + "\n" for point in points)
