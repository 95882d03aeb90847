"""The solvers by name: the four that qpopt knows, and those that other packages announce."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from qpopt.errors import MissingSolver
from qpopt.solvers.base import Solver, SolverInfo

ENTRY_POINTS = "qpopt.solvers"
"""The group of entry points under which a package announces a solver of its own."""

BUILT_IN = {
    "gurobi": ("qpopt.solvers.gurobi_", "Gurobi"),
    "highs": ("qpopt.solvers.highs_", "Highs"),
    "cpsat": ("qpopt.solvers.cpsat_", "CpSat"),
    "scip": ("qpopt.solvers.scip_", "Scip"),
}


def solver_names() -> list[str]:
    """Return the names of all known solvers, whether installed or not."""
    announced = {entry.name for entry in entry_points(group=ENTRY_POINTS)}
    return [*BUILT_IN, *sorted(announced - BUILT_IN.keys())]


@cache
def find_solver(name: str) -> Solver:
    """Return the solver of that name, whether installed or not.

    Raises
    ------
    MissingSolver
        If no solver of that name is known, or its package cannot be loaded.
    """
    if name in BUILT_IN:
        module, attribute = BUILT_IN[name]
        solver: Solver = getattr(import_module(module), attribute)()
        return solver
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name == name:
            return _announced(name, entry.load)
    raise MissingSolver(
        f"There is no solver called {name!r}; known are {', '.join(solver_names())}."
    )


def solver_infos() -> dict[str, SolverInfo]:
    """Return what is known of every solver, whether installed or not."""
    solvers = {name: find_solver(name) for name in solver_names()}
    return {
        name: SolverInfo(solver.availability(), solver.supports, solver.install)
        for name, solver in solvers.items()
    }


def require(name: str) -> Solver:
    """Return a solver that can be used here.

    Raises
    ------
    MissingSolver
        If it is unknown, not installed, or cannot be started.
    """
    solver = find_solver(name)
    availability = solver.availability()
    if not availability.installed:
        how = f" Install it with: {solver.install}" if solver.install else ""
        raise MissingSolver(f"The solver {name} is not installed.{how}")
    if availability.problem:
        raise MissingSolver(f"The solver {name} cannot be used: {availability.problem}")
    return solver


def _announced(name: str, load: Callable[[], Any]) -> Solver:
    try:
        solver = load()()
    except Exception as error:
        raise MissingSolver(
            f"The solver {name} is announced by a package that cannot be loaded: {error}."
        ) from error
    if not isinstance(solver, Solver):
        raise MissingSolver(
            f"The solver {name} is announced as {solver!r}, which is no qpopt.solvers.Solver."
        )
    return solver
