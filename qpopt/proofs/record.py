"""Record: how a proof takes the selections apart, and the steps that prove each part.

Branch and bound works on the part that promises most; a certificate goes from one part to the next.
The record is the tree between the two. It is written ahead of everything else: what a step decides
is decided once the step is in it, so an interruption never leaves a decision without its proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, inf
from typing import NamedTuple

import numpy as np

from qpopt.problem.assigning.relaxed import Multipliers
from qpopt.problem.instance import Instance
from qpopt.problem.subproblem import Part, undecided
from qpopt.relaxations.step import Step
from qpopt.verification.certificate_check import Claim, End, Split
from qpopt.verification.enumeration_check import MOST_SELECTIONS

OWN = "qpopt"
"""Whose claim it is what selections are worth under demands."""


class Proven(NamedTuple):
    """A step and the bound that it proves."""

    step: Step
    value: float


class Room:
    """How many bytes the steps of a record take, and may take."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.used = 0
        self.full = False

    def take(self, size: int) -> bool:
        """Take some bytes; where there are not so many, that is the end of the record."""
        self.full = self.full or self.used + size > self.most
        if not self.full:
            self.used += size
        return not self.full


class RecordedPart:
    """How one part is proven: by steps, then in two halves, or to its end.

    Once the room of the record is full nothing changes any more: what it holds is still a proof.

    Parameters
    ----------
    room
        Shared by all parts of a record.
    bound
        What is proven of the part as it begins.

    Attributes
    ----------
    steps
        The steps, one after another.
    claim
        What a solver has said of the part.
    looked_at
        What no selection of the part exceeds, once all of them have been looked at.
    halves
        The feature that the part was split by, and the parts with and without it.
    """

    def __init__(self, room: Room | None = None, bound: float = inf) -> None:
        self.room = room or Room(inf)
        self.given = bound
        self.steps: tuple[Proven, ...] = ()
        self.claim: Claim | None = None
        self.looked_at: float | None = None
        self.halves: tuple[int, RecordedPart, RecordedPart] | None = None

    @property
    def bound(self) -> float:
        """No selection of the part is better, as far as steps prove."""
        return min([self.given, *(value for _, value in self.steps)])

    def add(self, step: Step, value: float) -> None:
        """Add a step; the last one goes if it decided nothing and proved no more."""
        kept = self.steps
        if kept and not kept[-1].step.decides and value <= kept[-1].value:
            kept = kept[:-1]
        self._record((*kept, Proven(step, value)))

    def begin_anew(self, step: Step, value: float) -> None:
        """Put a step about the part as it began in the place of all steps."""
        self._record((Proven(step, value),))

    def claim_that(self, solver: str, bound: float) -> None:
        """Note what a solver has said."""
        if not self.room.full and (self.claim is None or bound < self.claim.bound):
            self.claim = Claim(solver, bound)

    def close(self, value: float) -> None:
        """Note that all selections have been looked at, and that none exceeds a value."""
        if not self.room.full:
            self.looked_at = value

    def split(self, feature: int, with_feature: float = inf) -> tuple[RecordedPart, RecordedPart]:
        """Split the part by a feature; return the half with it, which has a bound, and without."""
        bound = self.bound
        chosen = RecordedPart(self.room, min(bound, with_feature))
        rest = RecordedPart(self.room, bound)
        if not self.room.full:
            self.halves = (feature, chosen, rest)
        return chosen, rest

    def _record(self, steps: tuple[Proven, ...]) -> None:
        before, after = (sum(one.step.size for one in some) for some in (self.steps, steps))
        if self.room.take(after - before):
            self.steps = steps


Item = Step | Split | End | Claim
"""What a certificate is a list of."""


class OpenPart(NamedTuple):
    """A part that is still open: its record, what is undecided, and what solvers say of it."""

    record: RecordedPart
    part: Part
    claimed: float


class Record:
    """How a proof takes the selections of an instance apart.

    Parameters
    ----------
    instance
        The instance that is worked on.
    most_bytes
        Larger steps than that are not kept: the record ends with what it has.
    multipliers
        Of the demands that the plain instance stands for; None where there are none. A part is
        looked at with its demands then, which the check does not do: it is a claim.
    """

    def __init__(
        self, instance: Instance, most_bytes: float = inf, multipliers: Multipliers | None = None
    ) -> None:
        self.instance = instance
        self.multipliers = multipliers
        self.room = Room(most_bytes)
        self.root = RecordedPart(self.room)

    @property
    def full(self) -> bool:
        """Whether the proof has gone on without its record."""
        return self.room.full

    def open(self) -> list[OpenPart]:
        """Return the parts that have no end and are not split."""
        return [leaf for leaf in self._leaves() if leaf.record.looked_at is None]

    def bound(self, objective: float, known: float = -inf) -> float:
        """Return what the record shows, the claims of solvers counting as right.

        `objective` is the Z of the best solution; all else is as for `items`.
        """
        left = self._left_to_check(known)
        result = objective
        for one, part, claimed in self._leaves():
            shown = one.looked_at
            if shown is None:
                shown = known if id(one) in left else min(part.bound, claimed)
            result = max(result, shown)
        return result

    def items(self, known: float = -inf) -> Iterator[tuple[Item, float]]:
        """Yield the proof as a certificate has it; to each item belongs what it proves, if it does.

        Of a split, that is what is proven of the part with the feature.

        Parameters
        ----------
        known
            What other means have proven. Parts that the record alone does not bound by that, and
            that have few selections, are left to the check: it looks at all of them.
        """
        left = self._left_to_check(known)
        todo = [self.root]
        while todo:
            one = todo.pop()
            enumerated = one.looked_at is not None or id(one) in left
            yield from one.steps
            if one.claim is not None and not enumerated:
                yield one.claim, inf
            if self.multipliers is not None and enumerated:
                yield Claim(OWN, known if one.looked_at is None else one.looked_at), inf
                enumerated = one.looked_at is not None
            if one.halves is None:
                yield End(enumerated), inf if one.looked_at is None else one.looked_at
            else:
                feature, chosen, rest = one.halves
                yield Split(feature), chosen.given
                todo += [rest, chosen]

    def _left_to_check(self, known: float) -> set[int]:
        """Return which parts are not shown to be as bounded as is known, and are small enough."""
        if known == -inf:
            return set()
        return {
            id(leaf.record)
            for leaf in self.open()
            if leaf.part.bound > known and (self.multipliers is not None or self._few(leaf.part))
        }

    def _few(self, part: Part) -> bool:
        n_select = self.instance.n_select - len(part.included)
        return comb(len(part.free), n_select) <= MOST_SELECTIONS

    def _leaves(self) -> Iterator[OpenPart]:
        """Yield the parts that are not split and hold selections, depth first."""
        free, included = (frozenset(some.tolist()) for some in undecided(self.instance))
        todo = [(self.root, free, included, inf)]
        while todo:
            one, free, included, claimed = todo.pop()
            excluded: frozenset[int] = frozenset()
            for step, _ in one.steps:
                included |= frozenset(step.forced.tolist())
                excluded |= frozenset(step.removed.tolist())
            free = free - included - excluded
            if excluded & included or not 0 <= self.instance.n_select - len(included) <= len(free):
                continue
            if one.claim is not None:
                claimed = min(claimed, one.claim.bound)
            if one.halves is not None:
                feature, chosen, rest = one.halves
                free -= {feature}
                todo += [(rest, free, included, claimed)]
                todo += [(chosen, free, included | {feature}, claimed)]
                continue
            sets = [np.array(sorted(some), dtype=np.int64) for some in (free, included)]
            yield OpenPart(one, Part(sets[0], sets[1], one.bound), claimed)
