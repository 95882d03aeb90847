"""Running methods on data sets: what is missing is measured, what is there is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

from torch import nn

from benchmarks.errors import BenchmarkError
from benchmarks.runs.judge import commit
from benchmarks.studies.models.data import DATA
from benchmarks.studies.models.measure import measured
from benchmarks.studies.models.methods import METHODS
from benchmarks.studies.models.recipe import Recipe
from benchmarks.studies.models.results import Result, ResultFile
from benchmarks.studies.models.sources import Sources
from benchmarks.studies.models.tables import write_tables
from benchmarks.studies.models.task import Task, digest
from qpopt.io import replacing

DENSE = "dense"
"""The row of the network that all methods start from."""


def main(
    data: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    out: Path,
    tell: Callable[[str], None],
) -> None:
    """Measure what is missing, write the tables and tell them; arguments as in `run`.

    Parameters
    ----------
    given
        The fields of `Sources`.
    """
    if unknown := [name for name in data if name not in DATA]:
        raise BenchmarkError(f"There are no data {unknown[0]!r}; there are {', '.join(DATA)}.")
    wanted = list(METHODS) if list(methods) == ["all"] else methods
    for name in data:
        run(name, wanted, seeds, Sources(**given), options, out, lambda r: tell(_line(r)))
    for one in write_tables(out):
        tell(f"\n{one.title}\n\n{one.markdown}\n")
        for label, value in one.facts:
            tell(f"{label}: {value}")


def run(
    data: str,
    methods: Sequence[str],
    seeds: Sequence[int],
    sources: Sources,
    options: Mapping[str, Any],
    out: Path,
    tell: Callable[[Result], None],
) -> None:
    """Measure methods on a data set; started again, it goes on where it stopped.

    Parameters
    ----------
    data
        One of the names in `DATA`.
    methods
        Names of methods; the dense network is measured in any case.
    seeds
        Of everything random.
    sources
        Where data and networks come from.
    options
        Settings that differ from the recipe of the data.
    out
        The results folder.
    tell
        Is told of every new result.
    """
    if unknown := [name for name in methods if name not in METHODS]:
        raise BenchmarkError(f"There is no method {unknown[0]!r}; there are {', '.join(METHODS)}.")
    kind = DATA[data]
    recipe, name = kind.recipe.changed(options), kind.name(sources)
    judged_by = "validation" if sources.validation else "test"
    place = (
        out / "work" / f"{name.replace(' ', '-')}-{digest(repr(replace(sources, validation=0.0)))}"
    )
    file = ResultFile(out)
    there = file.read()
    known = {result.key for result in there}
    for seed in seeds:
        key = (seed, judged_by, recipe.text)
        missing = [m for m in (DENSE, *methods) if (name, m, *key) not in known]
        if not missing:
            continue
        if (same := _dense_known(there, name, seed, judged_by, recipe)) and DENSE in missing:
            missing.remove(DENSE)
            file.append(replace(same, recipe=recipe.text))
        with _timed(place / f"seed{seed}.seconds") as preparing:
            task = kind.task(recipe, sources, seed, place)
        for method in missing:
            with _timed(task.own / f"{digest(method)}.seconds") as spent:
                model = _model(method, task)
            seconds = preparing() if method == DENSE else spent()
            result = Result(
                data=name,
                method=method,
                seed=seed,
                judged_by=judged_by,
                recipe=recipe.text,
                figures=measured(model, task),
                minutes=seconds / 60,
                commit=commit(),
                finished=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            file.append(result)
            tell(result)


def _dense_known(
    results: Sequence[Result], name: str, seed: int, judged_by: str, recipe: Recipe
) -> Result | None:
    """Return the result of the dense network, if another recipe that trains it alike has one."""
    return next(
        (
            result
            for result in results
            if (result.data, result.method, result.seed, result.judged_by)
            == (name, DENSE, seed, judged_by)
            and Recipe.of(result.recipe).before == recipe.before
        ),
        None,
    )


def _line(result: Result) -> str:
    known = {key: value for key, value in result.figures.items() if value is not None}
    figures = "  ".join(f"{key} {value:.1f}" for key, value in known.items())
    return f"{result.data}, {result.method}, seed {result.seed}: {figures}"


def _model(method: str, task: Task) -> nn.Module:
    return task.dense if method == DENSE else METHODS[method](task)


@contextmanager
def _timed(file: Path) -> Iterator[Callable[[], float]]:
    """Count the CPU seconds of a block, with those of blocks that were interrupted before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    before = float(file.read_text(encoding="utf-8")) if file.exists() else 0.0
    began = process_time()
    total = before

    def seconds() -> float:
        return total

    try:
        yield seconds
    finally:
        total = before + process_time() - began
        with replacing(file) as stream:
            stream.write(f"{total:.3f}".encode())
