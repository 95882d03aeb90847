"""The work that a process of its own does: `python -m qpopt.selfcheck.child FOLDER`.

The folder holds `task.json`. Either the task is to tell which pairs can be used here, having
compiled everything; that goes to `pairs.json`. Or it is a pair with cases, of which it begins one
after the other while there is time. It leaves there

- ``steps.jsonl``: a line ["ready", ""], ["begin", case] or ["end", case] for what it does;
- ``CASE.answer.json``: what the witness of the solver noted, and the error, if any;
- ``CASE.solution.json``, ``CASE.certificate.npz``: what came of it.

How long it may take and how much memory it may use is for its parent to say; see
`qpopt.selfcheck.watching`.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qpopt.errors import MissingSolver, QpoptError, SolverLimit, UnsupportedModel
from qpopt.io.atomic import replacing
from qpopt.methods.solve import solve
from qpopt.methods.warm_up import compile_loops
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import Candidate
from qpopt.selfcheck.cases import Case
from qpopt.selfcheck.machine import solver_versions
from qpopt.selfcheck.pairs import CERTIFICATE, Pair, usable_pairs
from qpopt.selfcheck.processes import end_with_parent
from qpopt.selfcheck.witness import Witness
from qpopt.solvers.base import Solver
from qpopt.solvers.registry import find_solver

LEAST_SECONDS = 1.0
"""The shortest time that a case gets, however little is left."""

Step = Callable[[str, str], None]


def main(folder: Path) -> None:
    """Do the task of a folder."""
    end_with_parent()
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    with (folder / "steps.jsonl").open("w", encoding="utf-8") as stream:

        def step(what: str, case: str) -> None:
            stream.write(json.dumps([what, case]) + "\n")
            stream.flush()

        if "pair" in task:
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
    pair = Pair(**task["pair"])
    compile_loops()
    solver = None
    if pair.solver:
        solver = find_solver(pair.solver)
        solver.availability().usable  # noqa: B018 - loads it before its time begins
    began = time.perf_counter()
    step("ready", "")
    for number, record in enumerate(task["cases"]):
        left = task["seconds"] - (time.perf_counter() - began)
        if number and left <= 0:
            return
        case = Case(record["name"], Path(record["instance"]), Path(record["best"]))
        limit = min(task["time_limit"], max(left, LEAST_SECONDS))
        step("begin", case.name)
        _write(
            folder / f"{case.name}.answer.json",
            _answer(case, pair, solver, folder, limit, task["seed"]),
        )
        step("end", case.name)


def _answer(
    case: Case, pair: Pair, solver: Solver | None, folder: Path, time_limit: float, seed: int
) -> dict[str, Any]:
    """Solve a case and return what can be said of it, its error included."""
    witness, plain = None, None
    if solver is not None:
        plain = solver.solve
        selection, assignment = case.best.selection, case.best.assignment
        assert selection is not None
        assert assignment is not None
        best = Candidate(selection, assignment)
        witness = Witness(solver, scaled(case.instance).instance, best)
    options = dict(pair.options)
    if pair.certified:
        options[CERTIFICATE] = str(folder / f"{case.name}.certificate.npz")
    answer: dict[str, Any] = {"refused": False, "error": "", "time_limit": time_limit}
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # A certificate that was not written in time is noticed by its absence.
            warnings.simplefilter("ignore")
            solution = solve(
                case.instance,
                method=pair.method,
                solver=pair.solver or "auto",
                time_limit=time_limit,
                seed=seed,
                threads=1,
                options=options,
            )
        answer["seconds"] = time.perf_counter() - began
        solution.save(folder / f"{case.name}.solution.json")
    except (UnsupportedModel, SolverLimit) as error:
        answer |= {"refused": True, "error": str(error)}
    except Exception as error:
        # Whatever a method or solver of another package raises is what came of it.
        traceback.print_exc()
        answer["error"] = f"{type(error).__name__}: {error}"
    answer.setdefault("seconds", time.perf_counter() - began)
    if witness is not None:
        vars(solver)["solve"] = plain
        answer["findings"] = [[str(fault), message] for fault, message in witness.findings]
        answer["answers"] = witness.answers
    return answer


def _write(path: Path, values: Mapping[str, Any]) -> None:
    with replacing(path) as stream:
        stream.write(json.dumps(values, indent=1).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
