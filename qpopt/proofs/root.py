"""RootBound: the semidefinite bound of a whole instance, with growing candidate sets and fixing."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.instance import Instance
from qpopt.problem.objective import best_assignment
from qpopt.problem.subproblem import Indices, Part, subproblem
from qpopt.proofs.certificate import Certificate, Step
from qpopt.proofs.params import RootParams
from qpopt.relaxations.ranking import FeatureRanking
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation

CLEARLY = 1e-7
"""By how much a bound must lie below the objective, relative to it, to decide a feature."""
DEFAULTS = RootParams()


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

    Attributes
    ----------
    objective
        The best known Z.
    latest
        What the last round gave, before the rigorous value: to see whether there is progress.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        cuts: bool = True,
        free: Indices | None = None,
        included: Indices | None = None,
        params: RootParams = DEFAULTS,
    ) -> None:
        self.instance = instance
        self.params = params
        self.objective = -inf
        self.latest = inf
        self._sub = subproblem(instance, free, included)
        self._cuts = cuts
        self._semidefinite: SemidefiniteRelaxation | None = None
        self._steps: list[Step] = []
        self._snapshot: Step | None = None
        self._rest = inf
        self._stages = [
            stage
            for stage in params.candidates
            if params.worth_a_stage * stage[0] < self._sub.n_free
        ]
        self._rounds_left = 0
        if self._sub.feasible:
            self._settle()
        else:
            # What others have decided leaves no selection: nothing is better than what is known.
            self._rest = -inf

    @property
    def bound(self) -> float:
        """The proven bound: no solution has a larger Z."""
        return max(self._rest, self.objective)

    @property
    def n_free(self) -> int:
        """How many features are undecided."""
        return self._sub.n_free

    @property
    def free(self) -> Indices:
        """The features that are undecided."""
        return self._sub.free

    @property
    def included(self) -> Indices:
        """The features that every better solution contains."""
        return self._sub.included

    @property
    def finished(self) -> bool:
        """Whether nothing is left to improve: no better solution exists."""
        return self._rest <= self.objective or self._sub.n_select == 0

    @property
    def iterate(self) -> SemidefiniteRelaxation | None:
        """The present iterate, if it is one for all features that are undecided."""
        current = self._semidefinite
        if current is None or current.sub.n_free != self._sub.n_free:
            return None
        return current

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """How much the relaxed solution selects every feature of the instance."""
        values = np.zeros(self.instance.n_features)
        values[self._sub.included] = 1.0
        if self._semidefinite is not None:
            free = self._semidefinite.sub.free
            values[free] = np.clip(np.diagonal(self._semidefinite.X), 0.0, 1.0)
        return values

    def know(self, objective: float) -> None:
        """Take note of the Z of a solution."""
        self.objective = max(self.objective, float(objective))

    def advance(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Make one round; `stop` is asked often and ends it early."""
        if self.finished:
            return
        current = self._current()
        whole = current.sub.n_free == self._sub.n_free
        params = self.params
        large = current.sub.n_free > max((size for size, _ in params.candidates), default=0)
        often = large and current.sub.n_classes <= params.many_classes
        current.round(params.steps_at_full_size if often else None, stop)
        self._rounds_left -= 1
        if whole:
            estimate = self.latest = current.estimate()
            if estimate + params.worth_proving * abs(estimate) < self._rest:
                self._prove(stop)
        elif self._rounds_left == 0:
            self._grow()

    def finish(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Prove what the present iterate gives, however little it is.

        When `stop` says so, features that could be removed are no longer looked for.
        """
        if self.finished:
            return
        while self._stages or self._current().sub.n_free < self._sub.n_free:
            self._grow()
        if self._current().estimate() < self._rest:
            self._prove(stop)

    def parts(self, size: int, stop: Callable[[], bool] = lambda: False) -> tuple[Part, ...]:
        """Take everything that may be better apart, so that bounds fall from one part to the next.

        The first part holds the selections of the most promising features alone. Every other part
        has one feature more that it contains, and one that all parts before it leave out.

        Parameters
        ----------
        size
            How many features the first part has.
        stop
            Asked from time to time; when it says so, the bounds are left as they are then.
        """
        current = self.iterate
        free, included = self.free, self.included
        if current is None or size >= len(free) or self.finished:
            return (Part(free, included, self.bound),)
        values = np.fmin(current.values_with(stop), self.bound)
        order = np.argsort(-values, kind="stable")
        parts = [Part(np.sort(free[order[:size]]), included, self.bound)]
        for place in range(size, int(np.count_nonzero(values > self.objective))):
            d = order[place]
            allowed = np.sort(free[order[:place]])
            parts.append(Part(allowed, np.append(included, free[d]), float(values[d])))
        return tuple(parts)

    def certificate(self) -> Certificate:
        """Return the proof of `bound`."""
        last = [] if self._snapshot is None else [self._snapshot]
        steps = (*self._steps, *last)
        return Certificate(self.instance.fingerprint, self.bound, self.objective, steps)

    def _current(self) -> SemidefiniteRelaxation:
        if self._semidefinite is None:
            free = self._sub.free
            if self._stages:
                size, self._rounds_left = self._stages.pop(0)
                free = np.sort(free[FeatureRanking(self._sub).first()[:size]])
            self._semidefinite = SemidefiniteRelaxation(
                subproblem(self.instance, free, self._sub.included),
                cuts=self._wants_cuts(len(free)),
            )
        return self._semidefinite

    def _grow(self) -> None:
        current = self._current()
        if self._stages:
            size, self._rounds_left = self._stages.pop(0)
            ranking = FeatureRanking(self._sub).given(self.diagonal[self._sub.free])
            ranked = self._sub.free[ranking]
            more = ranked[~np.isin(ranked, current.sub.free)]
            free = np.union1d(current.sub.free, more[: size - current.sub.n_free])
            current.extend(subproblem(self.instance, free, self._sub.included))
        else:
            current.extend(self._sub)
        current.with_cuts = self._wants_cuts(current.sub.n_free)

    def _wants_cuts(self, size: int) -> bool:
        return self._cuts and size >= min(self.params.cuts_from, self.n_free)

    def _prove(self, stop: Callable[[], bool] = lambda: False) -> None:
        current = self._current()
        # The check of a certificate rounds in its own way, so features go only where it is clear.
        limit = self.objective - CLEARLY * max(1.0, abs(self.objective))
        features, found = current.proof(limit, stop)
        useless = features.with_feature <= limit
        useless[found.features] = True
        removed = current.sub.free[useless]
        forced = current.sub.free[features.without_feature <= limit]
        better = features.value < self._rest
        # The steps come before the bound: an interruption must not leave a bound without its proof.
        if len(removed) + len(forced) >= max(1.0, self.params.worth_removing * self.n_free):
            points = np.zeros((len(useless), self.n_free), dtype=np.float32)
            points[found.features] = found.points
            last = [] if better or self._snapshot is None else [self._snapshot]
            step = Step.of(current, removed, forced, points[useless])
            self._steps, self._snapshot = [*self._steps, *last, step], None
            self._rest = min(self._rest, features.value)
            self._decide(removed, forced)
        elif better:
            nothing = removed[:0]
            self._snapshot = Step.of(current, nothing, nothing, np.zeros((0, self.n_free)))
            self._rest = features.value

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
        self._sub = rest
        if rest.n_select > 0:
            current.restrict(rest)
        self._settle()

    def _settle(self) -> None:
        """Compute the value where nothing is left to choose."""
        if self._sub.n_select == self._sub.n_free:
            chosen = np.union1d(self._sub.free, self._sub.included)
            self._sub = subproblem(self.instance, chosen[:0], chosen)
        if self._sub.n_select == 0:
            chosen = self._sub.included
            self._sub = subproblem(self.instance, chosen[:0], chosen)
            given = best_assignment(self.instance.A, chosen, self.instance.n_per_class)
            value = self.instance.objective(chosen, given).total
            self._rest = min(self._rest, value + 1e-12 * max(1.0, abs(value)))
            self._snapshot = Step.of_one(chosen)
