"""RootBound: the semidefinite bound of a whole instance, with growing candidate sets and fixing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from qpopt.control.limits import Clock, Limits
from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.subproblem import Floats, Indices, Part, subproblem
from qpopt.proofs.pace import Pace
from qpopt.proofs.params import RootParams
from qpopt.proofs.record import RecordedPart
from qpopt.relaxations.ranking import FeatureRanking
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation
from qpopt.relaxations.step import Decided, Step, decide

CLEARLY = 1e-7
"""By how much a bound must lie below the objective, relative to it, to decide a feature."""
DEFAULTS = RootParams()

ENDLESS = Clock(Limits())


class RootBound:
    """The best bound of an instance so far, and the means to improve it.

    The doubly non-negative relaxation is solved for growing sets of features; only with all of
    them does it prove anything. Once an objective is known, features that no better solution
    contains are removed for good, which makes everything after it faster and tighter.

    Parameters
    ----------
    instance
        The instance.
    cuts
        Whether to use cuts on X.
    free, included
        What is undecided and what is selected, where other means have decided features already.
    params
        What tunes it.
    record
        Gets the steps of the proof; one of its own by default.

    Attributes
    ----------
    sub
        What is undecided, with the features that every better solution contains.
    objective
        The best known Z.
    latest
        What the last round gave, before the rigorous value: to see whether there is progress.
    layers
        The iterates of which parts have been set aside, that of the whole first.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        cuts: bool = True,
        free: Indices | None = None,
        included: Indices | None = None,
        params: RootParams = DEFAULTS,
        record: RecordedPart | None = None,
    ) -> None:
        self.instance = instance
        self.record = record or RecordedPart()
        self.params = params
        self.objective = -inf
        self.latest = inf
        self.layers: list[SemidefiniteRelaxation] = []
        self.sub = subproblem(instance, free, included)
        self._cuts = cuts
        self._semidefinite: SemidefiniteRelaxation | None = None
        self._apart: Step | None = None
        self._rest = self.record.bound
        self._pace = Pace(params, self.sub.n_select, self.sub.n_free)
        # How many rounds the iterate had when it was proven; none where it has changed since.
        self._proven: int | None = None
        if self.sub.feasible:
            self._settle()
        else:
            # What others have decided leaves no selection: nothing is better than what is known.
            self._rest = -inf

    @property
    def bound(self) -> float:
        """The proven bound: no solution has a larger Z."""
        return max(self._rest, self.objective)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to improve: no better solution exists."""
        return self._rest <= self.objective or self.sub.n_select == 0

    @property
    def iterate(self) -> SemidefiniteRelaxation | None:
        """The present iterate, if it is one for all features that are undecided."""
        current = self._semidefinite
        if current is None or current.sub.n_free != self.sub.n_free:
            return None
        return current

    def know(self, objective: float) -> None:
        """Take note of the Z of a solution."""
        self.objective = max(self.objective, float(objective))

    def advance(self, clock: Clock = ENDLESS) -> None:
        """Make one round; the clock says when to stop, and how large a set is worth its time."""
        if self.finished:
            return
        current, pace = self._current(clock), self._pace
        whole = current.sub.n_free == self.sub.n_free
        n, began = current.sub.n_free, clock.seconds
        steps = pace.steps_per_round(current.sub.n_classes, n)
        current.round(steps, lambda: clock.over or (whole and pace.time_to_end(clock, n)))
        pace.stepped(clock.seconds - began, steps, n)
        if not whole:
            if self._stage_is_over(clock):
                self._grow(clock)
            return
        estimate = self.latest = current.estimate()
        if estimate + self.params.worth_proving * abs(estimate) < self._rest:
            at_once = self._rest == inf or estimate <= self.objective
            if at_once or pace.proof_is_due(clock, self.sub.n_free):
                self._prove(clock)

    def time_to_end(self, clock: Clock) -> bool:
        """Tell whether all that the time left is good for is `finish`."""
        whole = self.iterate is not None
        return clock.over or (whole and self._pace.time_to_end(clock, self.sub.n_free, round_=True))

    def finish(self, clock: Clock = ENDLESS) -> None:
        """Prove what the present iterate gives, however little it is.

        When time is over, features that could be removed are no longer looked for.
        """
        if self.finished:
            return
        self._pace.skip_stages()
        if self._current(clock).sub.n_free < self.sub.n_free:
            self._grow(clock)
        current = self._current(clock)
        if current.rounds != self._proven and current.estimate() < self._rest:
            self._prove(clock)

    def parts(
        self, size: int | Callable[[Floats], int], clock: Clock = ENDLESS
    ) -> tuple[Part, ...]:
        """Take everything that may be better apart, so that bounds fall from one part to the next.

        The first part holds the selections of the most promising features alone. Every other part
        has one feature more that it contains, and one that all parts before it leave out.

        Parameters
        ----------
        size
            How many features the first part has; or what tells, from the bounds of selections
            with each feature, largest first.
        clock
            Looked at from time to time; when it is over, the bounds are left as they are then.
        """
        current = self.iterate
        free, included = self.sub.free, self.sub.included
        self._apart, whole = None, (Part(free, included, self.bound),)
        if current is None or self.finished or (isinstance(size, int) and size >= len(free)):
            return whole
        values, points = current.values_with(lambda: clock.over)
        values = np.fmin(values, self.bound)
        order = np.argsort(-values, kind="stable")
        if (size := size if isinstance(size, int) else size(values[order])) >= len(free):
            return whole
        open_ = order[size : int(np.count_nonzero(values > self.objective))]
        useless = order[size + len(open_) :]
        rows = np.concatenate([useless, open_])
        self._apart = Step.of(
            current, Decided(free[useless], free[:0], points[rows]), watched=free[open_]
        )
        parts = [Part(np.sort(free[order[:size]]), included, self.bound)]
        for place, d in enumerate(open_, start=size):
            allowed = np.sort(free[order[:place]])
            parts.append(Part(allowed, np.append(included, free[d]), float(values[d])))
        return tuple(parts)

    def take_apart(self, parts: Sequence[Part]) -> None:
        """Go on with the first of several parts that `parts` has returned; others are set aside."""
        current = self._semidefinite
        if self._apart is None or current is None:
            return
        self.record.add(self._apart, inf)
        rest, watched = self.record, self._apart.watched.tolist()
        for d, part in zip(reversed(watched), reversed(parts[1:]), strict=True):
            _, rest = rest.split(d, part.bound)
        self.record, self._apart = rest, None
        self.layers = [*self.layers, current]
        self._semidefinite = current.copy()
        self._decide(np.setdiff1d(self.sub.free, parts[0].free), parts[0].free[:0])

    def _current(self, clock: Clock = ENDLESS) -> SemidefiniteRelaxation:
        if self._semidefinite is None:
            free = self.sub.free
            if (stage := self._pace.next_stage(clock)) is not None:
                free = np.sort(free[FeatureRanking(self.sub).first()[: int(stage.size)]])
            self._semidefinite = SemidefiniteRelaxation(
                subproblem(self.instance, free, self.sub.included),
                cuts=self._cuts and self._pace.stage is None,
                params=self.params.semidefinite,
            )
        return self._semidefinite

    def _stage_is_over(self, clock: Clock) -> bool:
        """Tell whether it is time for more features; after the least rounds cuts come in."""
        current = self._current()
        if self._pace.too_late(clock, self.sub.n_free):
            return True
        if not self._pace.settled(current.estimate()):
            return False
        current.with_cuts = self._cuts
        return self._pace.stage_is_over(clock)

    def _grow(self, clock: Clock) -> None:
        current, pace = self._current(), self._pace
        free = self.sub.free
        if pace.too_late(clock, self.sub.n_free):
            pace.skip_stages()
        if (stage := pace.next_stage(clock)) is not None:
            costs = current.reduced_costs(self.sub)
            more = np.argsort(-costs, kind="stable")[: int(stage.size) - current.sub.n_free]
            free = np.union1d(current.sub.free, free[more])
        current.with_cuts = self._cuts and stage is None
        current.extend(subproblem(self.instance, free, self.sub.included), lambda: clock.over)

    def _prove(self, clock: Clock) -> None:
        current, began = self._current(), clock.seconds
        self._proven = current.rounds
        # The check of a certificate rounds in its own way, so features go where it is clear.
        limit = self.objective - CLEARLY * max(1.0, abs(self.objective))
        features, found = current.proof(limit, lambda: clock.over)
        found_out = decide(current.sub.free, features, limit, found)
        n_decided = len(found_out.removed) + len(found_out.forced)
        # The steps come before the bound: an interruption must not leave a bound without its proof.
        if n_decided >= max(1.0, self.params.worth_removing * self.sub.n_free):
            self.record.add(Step.of(current, found_out), features.value)
            self._rest = min(self._rest, features.value)
            self._decide(found_out.removed, found_out.forced)
        elif features.value < self._rest:
            self.record.add(Step.of(current), features.value)
            self._rest = features.value
        self._pace.proven(clock.seconds - began, clock)

    def _decide(self, removed: Indices, forced: Indices) -> None:
        """Remove and include features for good; a contradiction means that nothing is better."""
        current = self._current()
        rest = subproblem(
            self.instance,
            np.setdiff1d(current.sub.free, removed),
            np.concatenate([current.sub.included, forced]),
        )
        if len(np.intersect1d(removed, forced)) or not rest.feasible:
            self._rest = -inf
            return
        self.sub, self._proven = rest, None
        if rest.n_select > 0:
            current.restrict(rest)
        self._settle()

    def _settle(self) -> None:
        """Compute the value where nothing is left to choose."""
        if self.sub.n_select == self.sub.n_free:
            chosen = np.union1d(self.sub.free, self.sub.included)
            self.sub = subproblem(self.instance, chosen[:0], chosen)
        if self.sub.n_select == 0:
            chosen = self.sub.included
            self.sub = subproblem(self.instance, chosen[:0], chosen)
            given = assign(self.instance.A, chosen, self.instance.n_per_class)
            value = self.instance.objective(chosen, given).total
            self._rest = min(self._rest, value + 1e-12 * max(1.0, abs(value)))
            self.record.close(value)
