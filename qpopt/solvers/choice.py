"""Which solver can take a model, said before the model is built."""

from __future__ import annotations

from qpopt.errors import MissingSolver, SolverLimit, UnsupportedModel
from qpopt.models.compiled import Size
from qpopt.solvers.availability import LicenceLimits
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
    return limits is None or (
        size.variables <= _most_variables(limits, size) and size.rows <= limits.rows
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
    limits = solver.availability().limits
    if limits is not None and not within_limits(solver, size):
        fitting = [name for name in solver_names() if _fits(find_solver(name), size)]
        raise SolverLimit(
            f"The model has {size.variables:,} variables and {size.rows:,} linear constraints; the "
            f"size-limited licence of {solver.name} allows {_most_variables(limits, size):,} "
            f"variables{' in a model with products' if _has_products(size) else ''} and "
            f"{limits.rows:,} linear constraints. Install a full licence, or use "
            f"{' or '.join(fitting) or 'a smaller instance'}."
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


def _has_products(size: Size) -> bool:
    return size.quadratic_objective or size.quadratic_rows


def _most_variables(limits: LicenceLimits, size: Size) -> int:
    return limits.quadratic_variables if _has_products(size) else limits.variables


def _needs(size: Size) -> str:
    parts = (
        "a quadratic objective" if size.quadratic_objective else "",
        "quadratic constraints" if size.quadratic_rows else "",
    )
    return " and ".join(filter(None, parts)) or "linear constraints"
