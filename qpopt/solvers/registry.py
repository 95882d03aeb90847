"""The solvers by name, from the entry points of installed packages, ours among them."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from qpopt.errors import MissingSolver
from qpopt.solvers.base import Solver, SolverInfo

GROUP = "qpopt.solvers"


def solver_names() -> list[str]:
    """Return the names of all known solvers, whether installed or not."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


@cache
def find_solver(name: str) -> Solver:
    """Return the solver of that name, whether installed or not.

    Raises
    ------
    MissingSolver
        If no solver of that name is known, or its package cannot be loaded.
    """
    found = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if not found:
        raise MissingSolver(
            f"There is no solver called {name!r}; known are {', '.join(solver_names())}."
        )
    try:
        solver = found[0].load()()
    except Exception as error:
        raise MissingSolver(
            f"The solver {name} cannot be loaded from {found[0].value}: {error!r}."
        ) from error
    if not isinstance(solver, Solver):
        raise MissingSolver(f"The solver {name}, {found[0].value}, is no qpopt.solvers.Solver.")
    return solver


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
