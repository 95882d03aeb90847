"""certify: prove afterwards how good a solution is, whatever method found it."""

from __future__ import annotations

from dataclasses import replace

from qpopt.errors import InvalidSolution
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution, Status
from qpopt.proofs.bound import Bound, Progress, bound
from qpopt.verification.solution_check import verify

PROVEN_GAP = 1e-4
"""The gap up to which a solution is called optimal, the same as a solve's by default."""


def certify(
    instance: Instance,
    solution: Solution,
    *,
    time_limit: float = 60.0,
    kind: str = "best",
    progress: Progress | None = None,
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
    """
    verification = verify(instance, replace(solution, bound=None, status=Status.FEASIBLE, trace=()))
    if not verification or solution.objective is None:
        raise InvalidSolution(f"The solution cannot be certified: {verification}")
    found = bound(
        instance,
        time_limit=time_limit,
        kind=kind,
        objective=solution.objective,
        progress=progress,
    )
    best = found.value if solution.bound is None else min(solution.bound, found.value)
    best = max(best, solution.objective)
    gap = (best - solution.objective) / max(abs(solution.objective), 1e-10)
    status = Status.OPTIMAL if gap <= PROVEN_GAP else solution.status
    return replace(solution, bound=best, status=status), found
