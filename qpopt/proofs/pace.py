"""Pace: how the root bound divides its time among sets of features, steps and proofs."""

from __future__ import annotations

from math import inf

from qpopt.control.limits import Clock
from qpopt.proofs.params import RootParams, Stage

COST = 2.2
"""The time of a step grows with this power of the features, as measured from 300 to 2048."""

STEPS_OF_A_PROOF = 3.0
"""A proof takes as long as so many steps, until one has been timed."""

STEPS_OF_A_ROUND = 2.0
"""A round that has time for fewer steps gains nothing."""

CHEAP = 300
"""With so few features a proof costs next to nothing, and what is proven leaves the clock alone."""

CAUTION = 1.1
"""What is timed may take a little longer the next time."""


class Pace:
    """When more features come in, when a proof is due, and when no time is left for more.

    Parameters
    ----------
    params
        How time is divided.
    n_select, n_free
        How many features are to be selected, and of how many.

    Attributes
    ----------
    stage
        The present candidate set; None once all features are in.
    """

    def __init__(self, params: RootParams, n_select: int, n_free: int) -> None:
        self._params = params
        first = params.first + params.first_per_selected * n_select
        self._stages = [
            stage._replace(size=stage.size * first)
            for stage in params.stages
            if params.worth_a_stage * stage.size * first < n_free
        ]
        self.stage: Stage | None = None
        self._estimates: list[float] = []
        self._stage_ends = inf
        self._step, self._step_of = 0.0, 1
        self._proof: float | None = None
        self._proven_at = -inf

    def steps_per_round(self, n_classes: int, n_free: int) -> int:
        """Return how many steps come between two looks for better cuts."""
        params, most = self._params, self._params.semidefinite.steps_per_round
        if n_classes > params.many_classes:
            return most
        return min(most, max(params.least_steps, params.work_per_round // n_free))

    def next_stage(self, clock: Clock) -> Stage | None:
        """Begin with the next candidate set; None where all features come next."""
        self.stage = self._stages.pop(0) if self._stages else None
        if self.stage is not None:
            most = self._params.most_seconds if self.stage.share else 0.0
            self._estimates = []
            share = clock.share(self.stage.share, most).time_limit
            self._stage_ends = clock.seconds + (share or 0.0)
        return self.stage

    def skip_stages(self) -> None:
        """Let all features come next."""
        self._stages.clear()

    def stepped(self, seconds: float, steps: int, n_free: int) -> None:
        """Take note of how long so many steps have taken with so many features."""
        self._step, self._step_of = seconds / steps, n_free

    def step(self, n_free: int) -> float:
        """Return about how many seconds a step takes with so many features."""
        return float(self._step * (n_free / self._step_of) ** COST)

    def proven(self, seconds: float, clock: Clock) -> None:
        """Take note of how long a proof has taken that ends now."""
        self._proof, self._proven_at = seconds, clock.seconds

    def settled(self, estimate: float) -> bool:
        """Take note of a round of the stage; tell whether it has had the least it gets."""
        self._estimates.append(estimate)
        return self.stage is None or len(self._estimates) >= self.stage.rounds

    def stage_is_over(self, clock: Clock) -> bool:
        """Tell whether a settled stage has had its time, or stands still."""
        if self.stage is None:
            return True
        still = self._params.standstill.ends(self._estimates[self.stage.rounds - 1 :])
        return still or clock.seconds >= self._stage_ends

    def too_late(self, clock: Clock, n_free: int) -> bool:
        """Tell whether the time left is needed to come to all of so many features."""
        params = self._params
        steps = params.semidefinite.steps_to_settle + params.least_steps + STEPS_OF_A_PROOF
        return clock.remaining is not None and clock.remaining < steps * self.step(n_free)

    def time_to_end(self, clock: Clock, n_free: int, *, round_: bool = False) -> bool:
        """Tell whether the time left is needed for a last proof, or leaves none for a round."""
        remaining, step = clock.remaining, self.step(n_free)
        proof = STEPS_OF_A_PROOF * step if self._proof is None else self._proof
        steps = STEPS_OF_A_ROUND if round_ else 0.5
        return remaining is not None and remaining <= CAUTION * (proof + steps * step)

    def proof_is_due(self, clock: Clock, n_free: int) -> bool:
        """Tell whether proofs have taken little enough of the time for another one."""
        seconds = 0.0 if self._proof is None else self._proof
        due = self._proven_at + seconds / self._params.share_of_proofs
        return n_free <= CHEAP or clock.seconds >= due
