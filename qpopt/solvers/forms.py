"""Whether redundancy stays quadratic in the objective or is linearised."""

from __future__ import annotations

from qpopt.control.settings import Settings
from qpopt.models.compiled import Size
from qpopt.solvers.base import Solver
from qpopt.solvers.choice import can_take, check, within_limits


def keep_quadratic(solver: Solver, quadratic: Size, linear: Size, settings: Settings) -> bool:
    """Decide by the option `objective`; "auto" keeps products where the solver can take them.

    Raises
    ------
    UnsupportedModel, SolverLimit
        If the solver cannot take the form asked for, or neither.
    """
    form = settings.option("objective", "auto")
    if form == "auto":
        fits = can_take(solver, quadratic) and within_limits(solver, quadratic)
        form = "quadratic" if fits else "linear"
    check(solver, quadratic if form == "quadratic" else linear)
    return bool(form == "quadratic")
