"""One run in a process of its own: `python -m benchmarks.runs.child FOLDER`.

The folder holds `spec.json`; the child leaves there `ready` when its time begins, and what it
claims:

- ``trace.jsonl``: a line [seconds, objective, bound] for every improvement, as it happens;
- ``solution.json``: the solution, in the format of `Solution.save`;
- ``proof.npz``: the certificate of its bound, if there is to be one;
- ``claims.json``: seconds for loading (with imports and a warm-up), for building and for solving,
  versions, and the error, if any.

How long it took and how much memory it used is measured by its parent; see
`benchmarks.runs.execute`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.library.library import ROOT, Library
from benchmarks.runs.execute import PROOF, READY
from benchmarks.runs.specs import CERTIFICATE, NO_SOLVER, RunSpec, toy_instance
from qpopt import Instance, QpoptError, Solution, __version__, solve
from qpopt.control import Event, OnEvent, Phase
from qpopt.control.processes import end_with_parent
from qpopt.errors import SolverLimit, UnsupportedModel
from qpopt.io import replacing
from qpopt.solvers import solver_version

WARM_UP_SECONDS = 1.0


def main(folder: Path) -> None:
    """Solve what the specification in the folder asks for and write down what came of it."""
    end_with_parent()
    content = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    library = Library(Path(content["library"]) if content["library"] else ROOT)
    claims: dict[str, Any] = {"error": "", "message": ""}
    try:
        solution = _run(RunSpec(**content["spec"]), library, folder / "trace.jsonl", claims)
        solution.save(folder / "solution.json")
    except (UnsupportedModel, SolverLimit) as error:
        claims |= {"error": "refused", "message": str(error)}
    except QpoptError as error:
        claims |= {"error": "error", "message": f"{type(error).__name__}: {error}"}
    except MemoryError as error:
        claims |= {"error": "memory", "message": str(error) or "MemoryError"}
    with replacing(folder / "claims.json") as stream:
        stream.write(json.dumps(claims).encode())


def _run(spec: RunSpec, library: Library, trace: Path, claims: dict[str, Any]) -> Solution:
    began = time.perf_counter()
    instance = library.instance(spec.instance)
    if instance.fingerprint != spec.fingerprint:
        raise QpoptError(f"The library of this machine has another {spec.instance}.")
    versions = {"qpopt": __version__, "python": sys.version.split()[0], "numpy": version("numpy")}
    if spec.solver != NO_SOLVER:
        versions[spec.solver] = solver_version(spec.solver)
    claims["versions"] = versions
    _warm_up(spec)
    claims["load_seconds"] = time.perf_counter() - began
    trace.with_name(READY).touch()
    with trace.open("w", encoding="utf-8") as stream:

        def write(event: Event) -> None:
            watch.hear(event.phase)
            stream.write(json.dumps(event.point) + "\n")
            stream.flush()

        watch = _Stopwatch()
        options = {CERTIFICATE: trace.with_name(PROOF)} if spec.certified else {}
        solution = _solve(instance, spec, spec.time_limit, write, options)
    claims |= watch.stop()
    return replace(solution, details={**solution.details, "versions": versions})


def _warm_up(spec: RunSpec) -> None:
    """Solve a toy, so that imports and compilation do not count as solving.

    If this fails, so will the run itself, and it tells why.
    """
    with suppress(QpoptError):
        _solve(toy_instance(), spec, min(spec.time_limit, WARM_UP_SECONDS))


def _solve(
    instance: Instance,
    spec: RunSpec,
    time_limit: float,
    progress: OnEvent | bool = False,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Solution:
    return solve(
        instance,
        method=spec.method,
        solver="auto" if spec.solver == NO_SOLVER else spec.solver,
        time_limit=time_limit,
        gap=spec.gap,
        seed=spec.seed,
        threads=spec.threads,
        options={**spec.options, **options},
        progress=progress,
    )


class _Stopwatch:
    """Tells building, which is a phase of that name, from solving, which is all else."""

    def __init__(self) -> None:
        self.began = self.since = time.perf_counter()
        self.phase, self.building = Phase.START, 0.0

    def hear(self, phase: Phase) -> None:
        now = time.perf_counter()
        if self.phase is Phase.BUILD:
            self.building += now - self.since
        self.phase, self.since = phase, now

    def stop(self) -> dict[str, float]:
        self.hear(Phase.START)
        solving = self.since - self.began - self.building
        return {"build_seconds": self.building, "solve_seconds": solving}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
