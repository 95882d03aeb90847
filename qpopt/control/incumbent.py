"""Incumbent: the best solution and the best bound that a method knows, and how they came about.

Solvers may stop early, answer a relaxed model, or fail: what is returned is always what is kept
here, and its objective always comes from the instance.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.control.settings import Settings, Start
from qpopt.problem import validation as _checks
from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.solution import OPTIMAL_GAP, Solution, Status, TracePoint
from qpopt.problem.tolerances import TOLERANCE


class Incumbent:
    """What is known at any moment of a solve.

    Parameters
    ----------
    instance
        The instance that is solved.
    settings
        The limits; the start, where there is one, is the first solution known.
    method, solver
        Their names, for the solution.
    """

    def __init__(
        self, instance: Instance, settings: Settings, *, method: str, solver: str = ""
    ) -> None:
        self.instance = instance
        self.settings = settings
        self.method = method
        self.solver = solver
        self.best: Start | None = None
        self.objective = -inf
        self.bound = inf
        self.interrupted = False
        self.note = ""
        self.details: dict[str, Any] = {}
        self._trace: list[TracePoint] = []
        self._tried: set[bytes] = set()
        self._began = perf_counter()
        if settings.start is not None:
            self.offer(*settings.start)

    @property
    def seconds(self) -> float:
        """Wall time since the solve began."""
        return perf_counter() - self._began

    @property
    def remaining(self) -> float | None:
        """Seconds left, never negative; None where there is no limit."""
        if self.settings.time_limit is None:
            return None
        return max(0.0, self.settings.time_limit - self.seconds)

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit has been reached."""
        return self.remaining == 0.0

    @property
    def proven(self) -> bool:
        """Whether the bound lies within the gap, or within rounding, of the best objective."""
        return self._within(self.settings.gap)

    def _within(self, gap: float) -> bool:
        rounding = 2.5 * TOLERANCE * max(1.0, abs(self.objective))
        return self.bound - self.objective <= max(gap * abs(self.objective), rounding)

    def offer(self, selection: NDArray[np.int64], assignment: NDArray[np.bool_]) -> bool:
        """Keep a feasible solution if it is better; tell whether it is."""
        objective = self.instance.objective(selection, assignment).total
        if objective <= self.objective:
            return False
        # Both at once: after an interruption they must belong together.
        self.best, self.objective = Start(selection.copy(), assignment.copy()), objective
        self._record()
        return True

    def hear(self, point: TracePoint) -> None:
        """Put on record a solution that a search has found; it is offered when the search ends."""
        if point.objective is None or point.objective <= self.objective:
            return
        bound = self.bound if isfinite(self.bound) else None
        self._trace.append(TracePoint(self.seconds, point.objective, bound))
        if self.settings.report is not None:
            self.settings.report(self._trace[-1], self.note)

    def offer_selection(self, s: NDArray[np.float64]) -> bool:
        """Complete a selection, given as the values of s, by its best assignment and offer it.

        Values that do not make a selection of the instance, as a solver within its tolerances may
        give, are passed over.
        """
        chosen = np.flatnonzero(s > 0.5)
        instance = self.instance
        if _checks.misfit(instance, chosen):
            return False
        if (key := chosen.tobytes()) in self._tried:
            return False
        self._tried.add(key)
        return self.offer(chosen, assign(instance.A, chosen, instance.n_per_class))

    def lower_bound(self, bound: float | None) -> None:
        """Keep an upper bound of the whole problem if it is better."""
        if bound is not None and isfinite(bound) and bound < self.bound:
            self.bound = bound
            self._record()

    def run(self, work: Callable[[], None]) -> None:
        """Do the work of a method; Ctrl-C ends it and leaves what is known until then."""
        try:
            work()
        except KeyboardInterrupt:
            self.interrupted = True

    def say(self, note: str) -> None:
        """Tell in a few words what is going on."""
        self.note = note
        if self.settings.report is not None:
            self.settings.report(self._point(), note)

    def solution(self) -> Solution:
        """Return what is known as a Solution."""
        if self.interrupted:
            status = Status.INTERRUPTED
        elif self.best is None:
            status = Status.NO_SOLUTION
        else:
            optimal = self._within(min(self.settings.gap, OPTIMAL_GAP))
            status = Status.OPTIMAL if optimal else Status.FEASIBLE
        point = self._point()
        selection, assignment = self.best or (None, None)
        return Solution(
            selection,
            assignment,
            point.objective,
            status=status,
            bound=point.bound,
            method=self.method,
            solver=self.solver,
            seconds=self.seconds,
            seed=self.settings.seed,
            trace=self._trace,
            fingerprint=self.instance.fingerprint,
            details=self.details,
        )

    def _point(self) -> TracePoint:
        # Within rounding the bound may fall below the objective; both are then the optimum.
        bound = max(self.bound, self.objective) if isfinite(self.bound) else None
        return TracePoint(self.seconds, self.objective if self.best else None, bound)

    def _record(self) -> None:
        point = self._point()
        self._trace.append(point)
        if self.settings.report is not None:
            self.settings.report(point, self.note)
