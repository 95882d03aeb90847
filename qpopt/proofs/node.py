"""Node: one part of the selections, with the semidefinite bound of that part."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.subproblem import Indices, Part, Subproblem, subproblem, undecided
from qpopt.proofs.record import RecordedPart
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation
from qpopt.relaxations.step import Decided, Step, decide

WORTH_A_STEP = 0.1
"""Share of the free features that must be decided at once where the proof is recorded."""

LEAST_PROGRESS = 0.1
"""Share of what is left between bound and objective that a round must close to go on."""


class Node:
    """All selections that contain `included` and otherwise only features of `free`.

    There may be thousands of them, most of which are never looked at: the matrices are made when
    they are needed.

    Parameters
    ----------
    instance
        The instance.
    free, included
        The features that are undecided, and those that are selected.
    bound
        A bound that is known already, that of the parent for example.
    parent
        An iterate of a larger part to start from; it is copied.
    record
        Gets the steps that prove the part; None where nobody asks for them.
    """

    def __init__(
        self,
        instance: Instance,
        free: Indices,
        included: Indices,
        bound: float = inf,
        parent: SemidefiniteRelaxation | None = None,
        record: RecordedPart | None = None,
    ) -> None:
        self.instance = instance
        self.bound = bound
        self.free, self.included = undecided(instance, free, included)
        self.semidefinite: SemidefiniteRelaxation | None = None
        self.record = record
        self._parent = parent
        self._sub: Subproblem | None = None

    @property
    def part(self) -> Part:
        """The selections and their bound."""
        return Part(self.free, self.included, self.bound)

    @property
    def start(self) -> SemidefiniteRelaxation | None:
        """The iterate to go on from, if there is one."""
        return self.semidefinite or self._parent

    @property
    def sub(self) -> Subproblem:
        """The problem that is left."""
        if self._sub is None:
            self._sub = subproblem(self.instance, self.free, self.included)
        return self._sub

    @property
    def n_select(self) -> int:
        """How many free features are to be selected."""
        return self.instance.n_select - len(self.included)

    @property
    def decided(self) -> Indices | None:
        """The only selection of this part, if there is just one."""
        if self.n_select == 0:
            return self.included
        if self.n_select == len(self.free):
            return np.union1d(self.included, self.free)
        return None

    @property
    def empty(self) -> bool:
        """Whether there is no selection in this part."""
        return not 0 <= self.n_select <= len(self.free)

    def improve(
        self, objective: float, rounds: int, stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Tighten the bound and decide features until it falls to `objective` or progress is slow.

        Only solutions better than `objective` are of interest; `stop` is asked before every step.
        """
        for number in range(rounds):
            if self.empty:
                self.bound = -inf
            if self.bound <= objective or self.empty or self.decided is not None or stop():
                break
            before = self.bound
            current = self._current()
            current.round(stop=stop)
            features, found = current.proof(objective, stop)
            found_out = decide(self.free, features, objective, found)
            decides = self._noted(current, found_out, features.value)
            self.bound = min(self.bound, features.value)
            if decides:
                self._decide(found_out.removed, found_out.forced)
            left = self.bound - objective
            if number >= 3 and before - self.bound < LEAST_PROGRESS * left:
                break
        chosen = None if self.empty else self.decided
        if chosen is not None:
            given = assign(self.instance.A, chosen, self.instance.n_per_class)
            value = self.instance.objective(chosen, given).total
            self.bound = min(self.bound, value + 1e-12 * max(1.0, abs(value)))
            if self.record is not None:
                self.record.close(value)

    def split(self) -> tuple[Node, Node]:
        """Return two parts: with and without the feature that the relaxation decides least."""
        current = self._current()
        fraction = np.abs(np.clip(np.diagonal(current.X), 0.0, 1.0) - 0.5)
        d = self.free[int(fraction.argmin())]
        rest = self.free[self.free != d]
        with_feature = np.append(self.included, d)
        halves = (None, None) if self.record is None else self.record.split(int(d))
        return (
            Node(self.instance, rest, with_feature, self.bound, current, halves[0]),
            Node(self.instance, rest, self.included, self.bound, current, halves[1]),
        )

    def rounded(self) -> Indices:
        """Return the selection that the relaxation suggests."""
        if (chosen := self.decided) is not None:
            return chosen
        diagonal = np.diagonal(self._current().X)
        best = np.argsort(-diagonal, kind="stable")[: self.n_select]
        return np.union1d(self.included, self.free[best])

    def _noted(self, current: SemidefiniteRelaxation, found: Decided, value: float) -> bool:
        """Record what an iterate proves; tell whether the features that it decides are to go."""
        n_decided = len(found.removed) + len(found.forced)
        if self.record is None or self.record.room.full:
            return n_decided > 0
        # Every step that decides something is kept, so it must be worth its bytes.
        decides = n_decided >= max(1.0, WORTH_A_STEP * len(self.free))
        if decides or value < self.record.bound:
            self.record.add(Step.of(current, found if decides else None), value)
        return decides

    def _current(self) -> SemidefiniteRelaxation:
        if self.semidefinite is None:
            if self._parent is None:
                self.semidefinite = SemidefiniteRelaxation(self.sub)
            else:
                self.semidefinite = self._parent.copy()
                self.semidefinite.restrict(self.sub)
                self._parent = None
        return self.semidefinite

    def _decide(self, removed: Indices, forced: Indices) -> None:
        if len(np.intersect1d(removed, forced)):
            self.bound = -inf
            return
        self.free, self.included = undecided(
            self.instance, np.setdiff1d(self.free, removed), np.concatenate([self.included, forced])
        )
        self._sub = None
        if self.empty:
            self.bound = -inf
        elif self.decided is None and self.semidefinite is not None:
            self.semidefinite.restrict(self.sub)
