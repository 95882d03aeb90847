"""Limits: how long, how exactly and with what a solve works; Clock: what is left of its time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

from qpopt.errors import InvalidArgument
from qpopt.problem import validation

TIME_LIMIT = 60.0
"""Seconds that solve, bound and certify take where nothing else is said."""
MOST_THREADS = 1024
GAP = 1e-4
"""The relative gap at which they stop."""
LEAST_GAIN = 1e-3
"""What a bound must fall by, relative to the objective, for a solve with patience to go on."""


@dataclass(frozen=True)
class Limits:
    """What holds for a solve and for everything in it.

    Parameters
    ----------
    time_limit
        Seconds; None for no limit.
    gap
        Stop when (bound − objective) / |objective| is at most this.
    seed
        Seed of everything random.
    threads
        How many threads to use; None leaves it to whoever runs.
    patience
        Stop when, once there is a bound, for so many seconds no better solution was found and the
        bound fell by less than 0.1 % of the objective; None for never.

    Raises
    ------
    InvalidArgument
        If one of them is out of range.
    """

    time_limit: float | None = None
    gap: float = GAP
    seed: int = 0
    threads: int | None = None
    patience: float | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            validation.number("time_limit", self.time_limit, least=0.0)
        validation.number("gap", self.gap, least=0.0)
        validation.whole_number("seed", self.seed)
        if self.threads is not None:
            validation.whole_number("threads", self.threads, least=1)
            if self.threads > MOST_THREADS:
                raise InvalidArgument(
                    f"threads must be at most {MOST_THREADS}, not {self.threads:.6g}."
                )
        if self.patience is not None:
            validation.number("patience", self.patience, least=0.0)


class Clock:
    """The time of one solve within its limits; it starts when the clock is made."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._began = perf_counter()
        self._waiting_since: float | None = None
        self._bound_before = inf

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return perf_counter() - self._began

    @property
    def remaining(self) -> float | None:
        """Seconds left, never negative; None where there is no limit."""
        if self.out_of_patience:
            return 0.0
        limit = self.limits.time_limit
        return None if limit is None else max(0.0, limit - self.seconds)

    def moved(self) -> None:
        """Take note that something has changed for the better: patience begins anew."""
        if not self.out_of_patience:
            self._waiting_since = self.seconds

    def better_solution(self) -> None:
        """Take note of a better solution, which counts once there is a bound."""
        if self._bound_before < inf:
            self.moved()

    def better_bound(self, bound: float, objective: float) -> None:
        """Take note of a better bound, which counts if it is better by enough."""
        if self._bound_before - bound >= LEAST_GAIN * abs(objective):
            self._bound_before = bound
            self.moved()

    @property
    def out_of_patience(self) -> bool:
        """Whether nothing has changed for as long as there is patience."""
        since, patience = self._waiting_since, self.limits.patience
        return since is not None and patience is not None and self.seconds - since >= patience

    @property
    def over(self) -> bool:
        """Whether the time limit, or the end of patience, has been reached."""
        return self.remaining == 0.0

    def share(self, part: float = 1.0, most: float = inf) -> Limits:
        """Return the same limits with a part of the time that is left, `most` seconds at most."""
        remaining = self.remaining
        seconds = min(most, inf if remaining is None else part * remaining)
        return replace(self.limits, time_limit=None if seconds == inf else seconds)
