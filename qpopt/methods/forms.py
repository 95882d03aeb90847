"""Whether redundancy stays quadratic in the objective or is linearised."""

from __future__ import annotations

from qpopt.errors import InvalidArgument
from qpopt.methods.settings import Settings
from qpopt.models.compiled import Size
from qpopt.solvers.base import Solver
from qpopt.solvers.choice import can_take, check, within_limits

FORMS = ("auto", "quadratic", "linear")


def keep_quadratic(solver: Solver, quadratic: Size, linear: Size, settings: Settings) -> bool:
    """Decide by the option `objective`; "auto" keeps products where the solver can take them.

    Raises
    ------
    InvalidArgument
        If the option is neither "auto", "quadratic" nor "linear".
    UnsupportedModel, SolverLimit
        If the solver cannot take the form asked for, or neither.
    """
    form = settings.option("objective", "auto")
    if form not in FORMS:
        raise InvalidArgument(f"objective must be one of {', '.join(FORMS)}, not {form!r}.")
    if form == "auto":
        fits = can_take(solver, quadratic) and within_limits(solver, quadratic)
        form = "quadratic" if fits else "linear"
    check(solver, quadratic if form == "quadratic" else linear)
    return bool(form == "quadratic")
