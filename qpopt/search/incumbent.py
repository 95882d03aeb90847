"""The best solution so far, shared by all workers, and the limits of the search."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.solution import TracePoint

MOST_JUDGED = 50_000
"""How many objectives are remembered."""

Progress = Callable[[TracePoint], None]


class Incumbent:
    """Judges selections exactly, keeps the best one and says when to stop.

    Parameters
    ----------
    instance
        What to solve.
    time_limit, step_limit, target
        When to stop: after so many seconds, after so many steps of all workers together, as soon
        as the objective is at least `target`. None means no such limit.
    on_progress
        Called with every improvement, one call at a time.
    patience
        Stop also after so many seconds without an improvement.
    """

    def __init__(
        self,
        instance: Instance,
        time_limit: float | None,
        step_limit: int | None,
        target: float | None,
        on_progress: Progress | None,
        patience: float | None = None,
    ) -> None:
        self.instance = instance
        self.selection: NDArray[np.int64] | None = None
        self.assignment: NDArray[np.bool_] | None = None
        self.objective = -np.inf
        self.trace: list[TracePoint] = []
        self.steps = 0
        self._promised = 0
        self._start = perf_counter()
        self._limits = (time_limit, step_limit, target)
        self._on_progress = on_progress
        self._patience = patience
        self._stopped = False
        self._judged: dict[bytes, float] = {}
        self._lock = Lock()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._start

    @property
    def done(self) -> bool:
        """Whether a limit is reached."""
        _, step_limit, target = self._limits
        return (
            self.out_of_time
            or (step_limit is not None and self._promised >= step_limit)
            or (target is not None and self.objective >= target)
        )

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit or the end of patience is reached, or the search was stopped."""
        time_limit, now = self._limits[0], self.seconds
        improved = self.trace[-1].seconds if self.trace else 0.0
        return (
            self._stopped
            or (time_limit is not None and now >= time_limit)
            or (self._patience is not None and now >= improved + self._patience)
        )

    def stop(self) -> None:
        """Make every worker stop at the next occasion."""
        self._stopped = True

    def allot(self, wanted: int) -> int:
        """Return how many of the `wanted` steps a worker may make before it asks again."""
        step_limit = self._limits[1]
        with self._lock:
            steps = wanted if step_limit is None else min(wanted, step_limit - self._promised)
            self._promised += steps
        return steps

    def affords(self, steps: int) -> bool:
        """Tell whether the step limit leaves so many steps."""
        step_limit = self._limits[1]
        return step_limit is None or self._promised + steps <= step_limit

    def made(self, steps: int, allotted: int) -> None:
        """Report how many of the steps allotted were made."""
        with self._lock:
            self.steps += steps
            self._promised -= allotted - steps

    def judge(self, selection: NDArray[np.int64]) -> float:
        """Return the objective of a selection with its best assignment, and keep it if best."""
        selection = np.sort(selection)
        known = self._judged.get(selection.tobytes())
        if known is not None:
            return known
        assignment = assign(self.instance.A, selection, self.instance.n_per_class)
        objective = self.instance.objective(selection, assignment).total
        with self._lock:
            if len(self._judged) >= MOST_JUDGED:
                self._judged.clear()
            self._judged[selection.tobytes()] = objective
            if objective > self.objective:
                # All at once: after an interruption they must belong together.
                self.selection, self.assignment, self.objective = selection, assignment, objective
                self.trace.append(TracePoint(self.seconds, objective, None))
                if self._on_progress is not None:
                    self._on_progress(self.trace[-1])
        return objective
