"""The work that a process of its own does: `python -m qpopt.selfcheck.child FOLDER`.

The folder holds `task.json`. Either the task is to tell which pairs can be used here, having
compiled everything; that goes to `pairs.json`. Or it has jobs, of which it begins one after the
other while there is time, and at least one of every pair. It leaves there

- ``steps.jsonl``: a line ["ready", 0], ["begin", number] or ["end", number] for what it does;
- ``NUMBER.answer.json``: what the witness of the solver noted, and the error, if any;
- ``NUMBER.solution.json``, ``NUMBER.certificate.npz``: what came of it.

How long it may take and how much memory it may use is for its parent to say; see
`qpopt.selfcheck.watching`.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qpopt.control.processes import end_with_parent
from qpopt.errors import MissingSolver, QpoptError, SolverLimit, UnsupportedModel
from qpopt.io.atomic import replacing
from qpopt.methods.solve import solve
from qpopt.methods.warm_up import compile_loops
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import Candidate
from qpopt.selfcheck.machine import solver_versions
from qpopt.selfcheck.pairs import CERTIFICATE, Job, usable_pairs
from qpopt.selfcheck.witness import Witness
from qpopt.solvers.registry import find_solver

LEAST_SECONDS = 1.0
"""The shortest time that a case gets, however little is left."""

Step = Callable[[str, int], None]


def main(folder: Path) -> None:
    """Do the task of a folder."""
    end_with_parent()
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    with (folder / "steps.jsonl").open("w", encoding="utf-8") as stream:

        def step(what: str, job: int) -> None:
            stream.write(json.dumps([what, job]) + "\n")
            stream.flush()

        if "jobs" in task:
            _solve_all(folder, task, step)
        else:
            _write(folder / "pairs.json", _pairs(task))


def _pairs(task: Mapping[str, Any]) -> dict[str, Any]:
    """Compile everything, and return the pairs that can be used and the versions of solvers."""
    try:
        smallest = Instance.load(task["smallest"])
        pairs = usable_pairs(smallest, task["methods"], task["solvers"])
    except QpoptError as error:
        return {"missing": isinstance(error, MissingSolver), "error": str(error)}
    compile_loops()
    names = sorted({pair.solver for pair in pairs if pair.solver})
    return {"pairs": [pair.record() for pair in pairs], "solvers": solver_versions(names)}


def _solve_all(folder: Path, task: Mapping[str, Any], step: Step) -> None:
    jobs = [Job.of(record) for record in task["jobs"]]
    compile_loops()
    for name in sorted({job.pair.solver for job in jobs if job.pair.solver}):
        find_solver(name).availability().usable  # noqa: B018 - loads it before its time begins
    n_pairs = len({job.pair.label for job in jobs})
    began = time.perf_counter()
    step("ready", 0)
    for number, job in enumerate(jobs):
        left = task["seconds"] - (time.perf_counter() - began)
        if number >= n_pairs and left <= 0:
            return
        limit = min(task["time_limit"], max(left, LEAST_SECONDS))
        step("begin", number)
        _write(folder / f"{number}.answer.json", _answer(job, folder / str(number), limit, task))
        step("end", number)


def _answer(job: Job, stem: Path, time_limit: float, task: Mapping[str, Any]) -> dict[str, Any]:
    """Solve a case and return what can be said of it, its error included."""
    pair, case = job.pair, job.case
    answer: dict[str, Any] = {"refused": False, "error": "", "time_limit": time_limit}
    options = dict(pair.options)
    if pair.certified:
        options[CERTIFICATE] = f"{stem}.certificate.npz"
    began = time.perf_counter()
    try:
        with _witnessed(job, answer), warnings.catch_warnings():
            # A certificate that was not written in time is noticed by its absence.
            warnings.simplefilter("ignore")
            solution = solve(
                case.instance,
                method=pair.method,
                solver=pair.solver or "auto",
                time_limit=time_limit,
                seed=task["seed"],
                threads=1,
                options=options,
            )
        answer["seconds"] = time.perf_counter() - began
        solution.save(f"{stem}.solution.json")
    except (UnsupportedModel, SolverLimit) as error:
        answer |= {"refused": True, "error": str(error)}
    except Exception as error:
        # Whatever a method or solver of another package raises is what came of it.
        traceback.print_exc()
        answer["error"] = f"{type(error).__name__}: {error}"
    answer.setdefault("seconds", time.perf_counter() - began)
    return answer


@contextmanager
def _witnessed(job: Job, answer: dict[str, Any]) -> Iterator[None]:
    """Let a witness look at all that the solver of a job answers, and note it."""
    best = job.case.best
    if not job.pair.solver or best.selection is None or best.assignment is None:
        yield
        return
    solver = find_solver(job.pair.solver)
    point = Candidate(best.selection, best.assignment)
    witness = Witness(solver, scaled(job.case.instance).instance, point)
    try:
        yield
    finally:
        witness.leave()
        answer["findings"] = [[str(fault), message] for fault, message in witness.findings]
        answer["answers"] = witness.answers


def _write(path: Path, values: Mapping[str, Any]) -> None:
    with replacing(path) as stream:
        stream.write(json.dumps(values, indent=1).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
