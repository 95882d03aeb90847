"""Which solver can take a model, said before the model is built."""

from __future__ import annotations

from qpopt.errors import MissingSolver, SolverLimit, UnsupportedModel
from qpopt.models.compiled import Size
from qpopt.solvers.base import Solver
from qpopt.solvers.registry import find_solver, require, solver_names

FORMS = ("auto", "quadratic", "linear")
"""What the form of an objective may be asked to be."""


def can_take(solver: Solver, size: Size) -> bool:
    """Tell whether a solver has what a model of this size and kind needs."""
    supports = solver.supports
    return (supports.quadratic_objective or not size.quadratic_objective) and (
        supports.quadratic_constraints or not size.quadratic_rows
    )


def within_limits(solver: Solver, size: Size) -> bool:
    """Tell whether the licence of a solver allows a model of this size."""
    limits = solver.availability().limits
    if limits is None:
        return True
    quadratic = size.quadratic_objective or size.quadratic_rows
    return (
        size.variables <= (limits.quadratic_variables if quadratic else limits.variables)
        and size.rows <= limits.rows
    )


def check(solver: Solver, size: Size) -> None:
    """Raise unless the solver can take a model of this size.

    Raises
    ------
    UnsupportedModel
        If it cannot take such a model at all.
    SolverLimit
        If its licence is too small.
    """
    if not can_take(solver, size):
        able = ", ".join(name for name in solver_names() if can_take(find_solver(name), size))
        raise UnsupportedModel(
            f"{solver.name} cannot take a model with {_needs(size)}; "
            f"{f'use one of {able}' if able else 'no known solver can'}."
        )
    if not within_limits(solver, size):
        limits = solver.availability().limits
        assert limits is not None
        quadratic = size.quadratic_objective or size.quadratic_rows
        most = limits.quadratic_variables if quadratic else limits.variables
        raise SolverLimit(
            f"The model has {size.variables:,} variables and {size.rows:,} linear constraints; the "
            f"size-limited licence of {solver.name} allows {most:,} variables"
            f"{' in a model with products' if quadratic else ''} and {limits.rows:,} linear "
            f"constraints. Install a full licence, or use {_instead(solver, size)}."
        )


def choose(name: str, sizes: list[Size], preference: tuple[str, ...]) -> Solver:
    """Return the solver of that name, or the first preferred one that can take a model.

    Parameters
    ----------
    name
        The name of a solver, or "auto".
    sizes
        The alternative forms of the model; one of them must fit.
    preference
        The order in which "auto" looks.

    Raises
    ------
    MissingSolver
        If the solver, or any that could take the model, is not installed.
    UnsupportedModel, SolverLimit
        If the solver cannot take any form of the model.
    """
    if name != "auto":
        solver = require(name)
        if not any(_fits(solver, size) for size in sizes):
            check(solver, sizes[-1])
        return solver
    limited = None
    for solver in map(find_solver, preference):
        if solver.availability().usable and any(_fits(solver, size) for size in sizes):
            if solver.availability().licensed:
                return solver
            limited = limited or solver
    # A limited licence is for trying a solver out, so it comes last.
    if limited is not None:
        return limited
    able = [find_solver(n) for n in preference if can_take(find_solver(n), sizes[-1])]
    commands = " or ".join(solver.install for solver in able if solver.install)
    raise MissingSolver(
        f"No installed solver can take this model ({_needs(sizes[-1])}, "
        f"{sizes[-1].variables:,} variables). Try: {commands}"
    )


def keep_quadratic(solver: Solver, sizes: list[Size], form: str = "auto") -> bool:
    """Decide whether redundancy stays a product; "auto" keeps it where the solver can take it.

    Parameters
    ----------
    solver
        The solver.
    sizes
        The size of the model with products, and that without.
    form
        One of `FORMS`.

    Raises
    ------
    UnsupportedModel, SolverLimit
        If the solver cannot take the form asked for, or neither.
    """
    quadratic, linear = sizes
    keep = _fits(solver, quadratic) if form == "auto" else form == "quadratic"
    check(solver, quadratic if keep else linear)
    return keep


def _fits(solver: Solver, size: Size) -> bool:
    return can_take(solver, size) and within_limits(solver, size)


def _needs(size: Size) -> str:
    parts = []
    if size.quadratic_objective:
        parts.append("a quadratic objective")
    if size.quadratic_rows:
        parts.append("quadratic constraints")
    return " and ".join(parts) or "linear constraints"


def _instead(solver: Solver, size: Size) -> str:
    others = [
        name for name in solver_names() if name != solver.name and _fits(find_solver(name), size)
    ]
    return " or ".join(others) or "a smaller instance"
