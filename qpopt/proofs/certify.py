"""certify: prove afterwards how good a solution is, whatever method found it."""

from __future__ import annotations

from dataclasses import replace

from qpopt.control.events import OnEvent
from qpopt.control.limits import TIME_LIMIT, Limits
from qpopt.errors import InvalidSolution, SolverFailure
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import Solution, Status
from qpopt.problem.tolerances import ROUNDING, is_closed
from qpopt.proofs.bound import Bound, bound
from qpopt.verification.solution_check import verify


def certify(
    instance: Instance,
    solution: Solution,
    *,
    time_limit: float | None = TIME_LIMIT,
    kind: str = "best",
    progress: bool | OnEvent = False,
) -> tuple[Solution, Bound]:
    """Give a solution a proven bound.

    Parameters
    ----------
    instance
        The instance.
    solution
        A solution of it.
    time_limit, kind, progress
        As for `qpopt.bound`.

    Returns
    -------
    tuple
        The solution with the better of its bound and the new one, and the new bound with its
        certificate. The status becomes `optimal` where the bound meets the objective.

    Raises
    ------
    InvalidSolution
        If the solution is not a feasible one of the instance.

    Examples
    --------
    >>> import qpopt
    >>> instance = qpopt.generate(12, 6, 5, 2)
    >>> solution = qpopt.solve(instance, method="search", time_limit=1)
    >>> certified, found = qpopt.certify(instance, solution, time_limit=5)
    >>> certified.objective <= certified.bound <= found.value
    True
    """
    verification = verify(instance, replace(solution, bound=None, status=Status.FEASIBLE, trace=()))
    if not verification or solution.objective is None:
        raise InvalidSolution(f"The solution cannot be certified: {verification}")
    found = bound(
        instance, time_limit=time_limit, kind=kind, objective=solution.objective, progress=progress
    )
    best = found.value if solution.bound is None else min(solution.bound, found.value)
    size = scaled(instance).size
    if best < solution.objective - ROUNDING * size:
        raise SolverFailure(
            f"A bound of {best!r} was said to be proven, but the solution has "
            f"{solution.objective!r}. Try another kind of bound."
        )
    best = max(best, solution.objective)
    closed = is_closed(best, solution.objective, Limits().gap, size)
    status = Status.OPTIMAL if closed else solution.status
    return replace(solution, bound=best, status=status), found
