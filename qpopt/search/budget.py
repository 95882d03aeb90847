"""Budget: when a search ends."""

from __future__ import annotations

from math import inf
from threading import Lock

from qpopt.control.incumbent import Incumbent


class Budget:
    """The limits of one search, shared by all its workers; it starts when it is made.

    Parameters
    ----------
    incumbent
        The best solution so far, whose clock counts the seconds.
    seconds
        How long to search at the most.
    steps
        Swaps, of all workers together, and selections where all of them are tried.
    target
        Stop as soon as the objective is at least this.
    patience
        Stop after so many seconds without an improvement.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        *,
        seconds: float | None = None,
        steps: int | None = None,
        target: float | None = None,
        patience: float | None = None,
    ) -> None:
        self.steps = 0
        self._promised = 0
        self._incumbent = incumbent
        self._began = incumbent.clock.seconds
        self._until = inf if seconds is None else self._began + seconds
        self._most_steps = inf if steps is None else steps
        self._target = inf if target is None else target
        self._patience = inf if patience is None else patience
        self._stopped = False
        self._lock = Lock()

    @property
    def done(self) -> bool:
        """Whether a limit is reached."""
        reached = self._incumbent.objective >= self._target
        return self.out_of_time or self._promised >= self._most_steps or reached

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit or the end of patience is reached, or the search was stopped."""
        now = self._incumbent.clock.seconds
        waited = now - max(self._began, self._incumbent.improved_at)
        over = now >= self._until or self._incumbent.clock.over
        return self._stopped or over or waited >= self._patience

    def stop(self) -> None:
        """Make every worker stop at the next occasion."""
        self._stopped = True

    def allot(self, wanted: int) -> int:
        """Return how many of the `wanted` steps a worker may make before it asks again."""
        with self._lock:
            steps = int(min(wanted, self._most_steps - self._promised))
            self._promised += steps
        return steps

    def affords(self, steps: int) -> bool:
        """Tell whether the limit of steps leaves so many."""
        return self._promised + steps <= self._most_steps

    def made(self, steps: int, allotted: int) -> None:
        """Report how many of the steps allotted were made."""
        with self._lock:
            self.steps += steps
            self._promised -= allotted - steps
