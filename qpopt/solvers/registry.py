"""The solvers by name, from the entry points of installed packages, ours among them."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from qpopt.errors import MissingSolver, QpoptError
from qpopt.solvers.base import Solver

T = TypeVar("T")

GROUP = "qpopt.solvers"


def announced_names(group: str) -> list[str]:
    """Return the names of all that installed packages announce in a group of entry points."""
    return sorted({entry.name for entry in entry_points(group=group)})


def find_announced(group: str, name: str, kind: type[T], error: type[QpoptError]) -> T:
    """Return what a package announces under a name in a group of entry points.

    It must be of the kind, or a class of them, which is then called. The error is raised if there
    is no such name, it cannot be loaded, or it is something else.
    """
    what = kind.__name__.lower()
    found = [entry for entry in entry_points(group=group) if entry.name == name]
    if not found:
        known = ", ".join(["auto", *announced_names(group)])
        raise error(f"There is no {what} called {name!r}; known are {known}.")
    try:
        loaded = found[0].load()
        loaded = loaded() if isinstance(loaded, type) else loaded
    except Exception as reason:
        where = found[0].value
        raise error(f"The {what} {name} cannot be loaded from {where}: {reason!r}.") from reason
    if not isinstance(loaded, kind):
        raise error(f"The {what} {name}, {found[0].value}, is no {group}.{kind.__name__}.")
    return loaded


def solver_names() -> list[str]:
    """Return the names of all known solvers, whether installed or not."""
    return announced_names(GROUP)


@cache
def find_solver(name: str) -> Solver:
    """Return the solver of that name, whether installed or not; MissingSolver if there is none."""
    return find_announced(GROUP, name, Solver, MissingSolver)  # type: ignore[type-abstract]


def solver_version(name: str) -> str:
    """Return the version of a solver's package or, where it names none, who announces it."""
    if version := find_solver(name).availability().version:
        return version
    found = next(entry.dist for entry in entry_points(group=GROUP) if entry.name == name)
    return f"{found.name}-{found.version}" if found else "unknown"


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
