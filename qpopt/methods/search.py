"""The swap search as a method: good solutions in seconds, a proof only where all can be tried."""

from __future__ import annotations

from qpopt.control.settings import Settings
from qpopt.methods.base import Method
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution, Status, TracePoint
from qpopt.search.local_search import search
from qpopt.solvers.base import Solver


def solve_search(instance: Instance, solver: Solver | None, settings: Settings) -> Solution:
    """Search over swaps of features until a limit is reached; 10 seconds where there is none.

    Where there are so few selections that all of them are tried, the solution is optimal and has a
    bound.

    Options
    -------
    step_limit
        Stop after so many swaps. With one thread and no time limit that reaches first, the result
        depends on the seed alone. Where all selections are tried, each of them counts as well.
    target
        Stop as soon as the objective is at least this.
    """
    settings.check_options("step_limit", "target")
    report = settings.report

    def improved(point: TracePoint) -> None:
        if report is not None:
            report(point, "searching")

    result = search(
        instance,
        time_limit=settings.time_limit,
        step_limit=settings.option("step_limit", None),
        target=settings.option("target", None),
        seed=settings.seed,
        threads=settings.threads or 1,
        start=None if settings.start is None else settings.start.selection,
        on_progress=improved,
    )
    trace = result.trace
    status = Status.INTERRUPTED if result.interrupted else Status.FEASIBLE
    if result.complete:
        status = Status.OPTIMAL
        trace = (*trace, TracePoint(result.seconds, result.objective, result.objective))
        if report is not None:
            report(trace[-1], "all selections tried")
    return Solution(
        result.selection,
        result.assignment,
        result.objective,
        status=status,
        bound=result.objective if result.complete else None,
        method="search",
        seconds=result.seconds,
        seed=settings.seed,
        trace=trace,
        fingerprint=instance.fingerprint,
        details={"steps": result.steps},
    )


METHOD = Method(
    "search",
    "tabu search over swaps: good solutions in seconds, no proof except by trying all",
    exact=False,
    run=solve_search,
)
