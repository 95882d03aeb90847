"""What a method is: a name, what it proves, the models it may hand to a solver, and a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qpopt.control.settings import Settings
from qpopt.models.compiled import Size
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution
from qpopt.solvers.base import Solver

PREFERENCE = ("gurobi", "highs", "cpsat", "scip")
"""The order in which solvers are tried unless a method has reasons for another."""


@dataclass(frozen=True)
class Method:
    """One way to solve an instance.

    Parameters
    ----------
    name
        What `solve(method=…)` takes.
    summary
        One line for people.
    exact
        Whether it proves its answer optimal, given time.
    run
        The method itself. It gets None for a solver where `sizes` is None.
    sizes
        The sizes of the models that it could hand to a solver for an instance, best first; None
        for a method that needs no solver.
    preference
        The order in which `solver="auto"` looks for a solver.
    """

    name: str
    summary: str
    exact: bool
    run: Callable[[Instance, Solver | None, Settings], Solution]
    sizes: Callable[[Instance], list[Size]] | None = None
    preference: tuple[str, ...] = PREFERENCE
