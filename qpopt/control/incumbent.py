"""Incumbent: the best solution and the best bound that a method knows, and how they came about.

Solvers may stop early, answer a relaxed model, or fail: what is returned is always what is kept
here, and its objective always comes from the instance.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.control.events import Event, OnEvent, Phase
from qpopt.control.judging import best_of_selection
from qpopt.control.limits import Clock, Limits
from qpopt.errors import SolverFailure
from qpopt.problem import validation
from qpopt.problem.assignment import assign
from qpopt.problem.demands.fulfilment import misfit, unmet
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import Scaling, size_of_terms
from qpopt.problem.solution import Candidate, Solution, Status, TracePoint
from qpopt.problem.tolerances import OPTIMAL_GAP, ROUNDING, is_closed

MOST_JUDGED = 50_000
"""How many objectives of selections are remembered."""

SECONDS_TO_SETTLE = 60.0
"""For how long the best assignment of one selection under demands is looked for."""


class Incumbent:
    """What is known at any moment of a solve; any thread may add to it.

    Parameters
    ----------
    instance
        The instance that is worked on.
    limits
        The limits of the solve, whose clock starts now.
    start
        A feasible solution to start from, the first one known.
    objective
        The Z of a solution that is known, but not at hand: only better ones are of interest.
    method, solver
        Their names, for the solution.
    on_event
        Told of every phase, solution and bound, one at a time.
    scaling
        How the instance was made from the one that was asked about, in whose unit solution, trace
        and events are; everything else is in that of `instance`. None where they are the same.
    """

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        *,
        start: Candidate | None = None,
        objective: float = -inf,
        method: str = "",
        solver: str = "",
        on_event: OnEvent | None = None,
        scaling: Scaling | None = None,
    ) -> None:
        self.instance = instance
        self.scaling = scaling or Scaling(instance, instance)
        self.size = size_of_terms(instance)
        self.limits = limits
        self.clock = Clock(limits)
        self.start = start
        self.method = method
        self.solver = solver
        self.best: Candidate | None = None
        self.objective = objective
        self.improved_at = 0.0
        self.bound = inf
        # What an earlier solve has settled is known only as well as its check has shown.
        self.floor = -inf
        self.interrupted = False
        # Demands may leave no solution; without them there always is one.
        self.infeasible = False
        self.details: dict[str, Any] = {}
        self._phase, self._note = Phase.START, ""
        self._on_event = on_event
        self._trace: list[TracePoint] = []
        self._judged: dict[bytes, float] = {}
        self._lock = RLock()
        if start is not None:
            self.offer(start)

    @property
    def proven(self) -> bool:
        """Whether the bound lies within the gap, or within rounding, of the best objective."""
        return self.infeasible or self.closes(self.bound)

    @property
    def model_gap(self) -> float:
        """The gap in terms of `instance`, which is smaller where constants were taken out of Z."""
        offset = self.scaling.offset
        if not offset or self.best is None or not self.objective:
            return self.limits.gap
        return self.limits.gap * min(1.0, abs((self.objective + offset) / self.objective))

    def closes(self, bound: float) -> bool:
        """Tell whether a bound lies within the gap, or within rounding, of the best objective."""
        return self._within(bound, self.limits.gap)

    def learn(self, objective: float) -> None:
        """Take note of the Z of a better solution that is not at hand."""
        with self._lock:
            if objective > self.objective:
                self.best, self.objective = None, objective

    def offer(self, candidate: Candidate) -> float:
        """Keep a feasible solution if it is better than the best one; return its objective."""
        objective = self.instance.objective(*candidate).total
        with self._lock:
            if objective > self.objective:
                # Both at once: after an interruption they must belong together.
                kept = Candidate(candidate.selection.copy(), candidate.assignment.copy())
                self.best, self.objective = kept, objective
                self.improved_at = self.clock.seconds
                self.clock.better_solution()
                self._refuse_low_bound()
                self._record()
        return objective

    def judge(self, selection: NDArray[np.int64]) -> float:
        """Offer a selection with its best assignment; return its objective.

        Where that takes long and the time is over, it is an assignment that may not be the best.
        """
        selection = np.sort(selection)
        if self.instance.demands:
            return self._judge_demands(selection, settles=False)
        known = self._judged.get(key := selection.tobytes())
        if known is not None:
            return known
        A, n_per_class = self.instance.A, self.instance.n_per_class
        assignment = assign(A, selection, n_per_class, over=lambda: self.clock.over)
        objective = self.offer(Candidate(selection, assignment))
        if self.clock.over:
            return objective
        with self._lock:
            if len(self._judged) >= MOST_JUDGED:
                self._judged.clear()
            self._judged[key] = objective
        return objective

    def settle(self, selection: NDArray[np.int64]) -> float:
        """Judge a selection so that no bound below what it may be worth is believed any more."""
        if not self.instance.demands:
            return self.judge(selection)
        return self._judge_demands(np.sort(selection), settles=True)

    def _judge_demands(self, selection: NDArray[np.int64], *, settles: bool) -> float:
        """Offer a good assignment under demands, the best one if it settles what it is worth."""
        instance = self.instance
        # Columns that stand for a demand are no features.
        selection = selection[selection < instance.n_features]
        known = self._judged.get(key := selection.tobytes() + b"settled" * settles)
        if known is not None:
            return known
        found, bound = best_of_selection(
            instance, selection, self.objective, SECONDS_TO_SETTLE * settles, self.clock
        )
        objective = -inf if found is None else self.offer(found)
        with self._lock:
            if settles and bound > self.objective:
                self.floor = max(self.floor, bound)
            if not self.clock.over:
                self._judged[key] = objective
        return objective

    def offer_values(self, s: NDArray[np.float64]) -> None:
        """Judge a selection given as the values of s.

        Values that do not make a selection of the instance, as a solver within its tolerances may
        give, are passed over.
        """
        chosen = np.flatnonzero(s > 0.5)
        if not misfit(self.instance, chosen):
            self.judge(chosen)

    def offer_assigned(self, s: NDArray[np.float64], assigned: NDArray[np.float64]) -> None:
        """Offer the values of s and of assignments, classes × features, if they are a solution."""
        chosen = np.flatnonzero(s > 0.5)
        if not misfit(self.instance, chosen):
            assignment = validation.signs("An assignment", assigned[:, chosen])
            if not unmet(self.instance, chosen, assignment):
                self.offer(Candidate(chosen, assignment))

    def tighten(self, bound: float | None) -> None:
        """Keep an upper bound of the whole problem if it is better.

        Raises
        ------
        SolverFailure
            If it lies below the objective of a solution by more than rounding explains.
        """
        with self._lock:
            if bound == -inf and self.best is None and self.floor == self.objective == -inf:
                # Demands that nothing can meet together.
                self.infeasible = True
            if bound is not None and isfinite(bound) and max(bound, self.floor) < self.bound:
                self.bound = max(bound, self.floor)
                self._refuse_low_bound()
                self.clock.better_bound(self.bound, self.objective)
                self._record()

    def run(self, work: Callable[[], None]) -> None:
        """Do the work of a method; Ctrl-C ends it and leaves what is known until then."""
        try:
            work()
        except KeyboardInterrupt:
            self.interrupted = True

    def enter(self, phase: Phase, note: str = "") -> None:
        """Tell what is going on from now on."""
        with self._lock:
            self._phase, self._note = phase, note
            self._tell(self._point())

    def note(self, text: str) -> None:
        """Tell something that has happened in the present phase."""
        self.enter(self._phase, text)

    def solution(self) -> Solution:
        """Return what is known as a Solution."""
        if self.interrupted:
            status = Status.INTERRUPTED
        elif self.infeasible:
            status = Status.INFEASIBLE
        elif self.best is None:
            status = Status.NO_SOLUTION
        else:
            if self.clock.out_of_patience and not self.proven:
                self.details["stopped"] = "patience"
            optimal = self._within(self.bound, min(self.limits.gap, OPTIMAL_GAP))
            status = Status.OPTIMAL if optimal else Status.FEASIBLE
        seconds, objective, bound = self._point()
        selection, assignment = self.best or (None, None)
        if self.best is not None:
            # Not what was scaled back: near 0 there are fewer digits, and the last may differ.
            objective = self.scaling.original.objective(*self.best).total
            bound = None if bound is None else max(bound, objective)
        return Solution(
            selection,
            assignment,
            objective,
            status=status,
            bound=bound,
            method=self.method,
            solver=self.solver,
            seconds=seconds,
            seed=self.limits.seed,
            trace=self._trace,
            fingerprint=self.scaling.original.fingerprint,
            details=self.details,
        )

    def _within(self, bound: float, gap: float) -> bool:
        return is_closed(bound, self.objective, gap, self.size, self.scaling.offset)

    def _refuse_low_bound(self) -> None:
        """Raise where a bound contradicts a solution: then nothing that it says can be believed."""
        if self.best is None or not isfinite(self.bound):
            return
        parts = self.instance.objective(*self.best)
        size = max(self.size, abs(parts.similarity) + parts.redundancy + abs(parts.bias))
        if self.bound < self.objective - ROUNDING * size:
            back, who = self.scaling.back, " with ".join(filter(None, [self.method, self.solver]))
            raise SolverFailure(
                f"A bound of {back(self.bound)!r} was said to be proven, but a solution with "
                f"{back(self.objective)!r} is known{f'; {who} cannot be trusted here' * bool(who)}."
                " Try another solver or method."
            )

    def _point(self) -> TracePoint:
        objective = bound = None
        if self.best is not None:
            objective = self.scaling.back(self.objective)
        if isfinite(self.bound):
            # Within rounding the bound may fall below the objective; both are then the optimum.
            bound = self.scaling.bound_back(max(self.bound, self.objective))
        bound = bound if bound is None or isfinite(bound) else None
        return TracePoint(self.clock.seconds, objective, bound)

    def _record(self) -> None:
        self._trace.append(self._point())
        self._tell(self._trace[-1])

    def _tell(self, point: TracePoint) -> None:
        if self._on_event is not None:
            self._on_event(Event(self._phase, point, self._note))
