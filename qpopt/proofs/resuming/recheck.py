"""Recheck: what a kept proof shows when all of it is looked at again.

A checkpoint is a file, and whoever can write to it could have left out what is better. Nothing in
it is believed, therefore: every step is recomputed by the arithmetic of the check of certificates,
parts that were enumerated are enumerated again, and what solvers have said does not count. Parts of
which nothing is shown that way are open, and are proven anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb, inf

import numpy as np

from qpopt.control.incumbent import Incumbent
from qpopt.errors import InvalidCertificate
from qpopt.problem.subproblem import Part, subproblem
from qpopt.problem.tolerances import ROUNDING
from qpopt.proofs.record import Item, Proven, Record, RecordedPart
from qpopt.relaxations.step import Step
from qpopt.search.enumeration import enumerate_part
from qpopt.verification.certificate_check import (
    Claim,
    PartOfProof,
    Split,
    halves,
    holds_selections,
    narrowed,
    whole,
)
from qpopt.verification.enumeration_check import MOST_SELECTIONS

SECONDS_PER_ENUMERATION = 5.0


@dataclass
class Rechecked:
    """What is left of a kept proof once it has been checked.

    Parameters
    ----------
    record
        The same proof, with what the check has found in the place of what it claimed.
    settled
        No selection outside the open parts of the record is better than this, or than the
        incumbent.
    anew
        How many parts were said to be done and are not shown to be: they are open again.
    asked
        Whether solvers were asked: what they said is not in the record any more.
    complete
        Whether all was looked at; otherwise time was over, and the rest is left out.
    """

    record: Record
    settled: float = -inf
    anew: int = 0
    asked: bool = False
    complete: bool = True

    @property
    def decides(self) -> bool:
        """Whether there is anything in it to go on from."""
        root = self.record.root
        return bool(root.steps) or root.halves is not None or root.looked_at is not None

    def open(self, objective: float) -> tuple[Part, ...]:
        """Return the parts that may hold something better than an objective."""
        parts = (leaf.part for leaf in self.record.open())
        return tuple(part for part in parts if part.bound > objective)

    def bound(self, objective: float) -> float:
        """Return what is proven of the whole, once an objective is known."""
        return max([objective, self.settled, *(part.bound for part in self.open(objective))])


Place = tuple[RecordedPart, PartOfProof]
"""Where a part is recorded anew, and what is proven of it."""


def rechecked(
    incumbent: Incumbent, items: Sequence[Item], stop: Callable[[], bool] = lambda: False
) -> Rechecked:
    """Look at a kept proof step by step.

    Parameters
    ----------
    incumbent
        The best solution known, which features are removed for; gets better ones where there are.
    items
        The proof, as a certificate has it; it may end early.
    stop
        Asked before every step.

    Raises
    ------
    InvalidCertificate
        If that is no proof of anything: a step is about another part than the one it stands in.
    """
    instance = incumbent.instance
    result = Rechecked(Record(instance))
    # Where a part is not shown to be what the rest says of it, the rest of it is passed over.
    places: list[Place | None] = [(result.record.root, whole(instance))]
    for number, item in enumerate(items):
        if not places:
            raise InvalidCertificate(f"Step {number} is about nothing: all parts have ended.")
        if stop():
            result.complete = False
            break
        place = places[-1]
        if isinstance(item, Claim):
            result.asked = True
        elif isinstance(item, Step):
            places[-1] = place and _stepped(result, incumbent, place, item, number)
        elif isinstance(item, Split):
            places.pop()
            places += [None, None] if place is None else _split(place, item, number)
        else:
            places.pop()
            if place is not None and item.enumerated is True:
                _enumerated(result, incumbent, place)
    return result


def _stepped(
    result: Rechecked, incumbent: Incumbent, place: Place, step: Step, number: int
) -> Place | None:
    """Record a step with what it proves.

    None where that is the end: the part holds nothing better, or the step sets aside what may be.
    """
    record, part = place
    (aside, _), rest = narrowed(incumbent.instance, part, step, number)
    shown = aside <= incumbent.objective + ROUNDING * incumbent.size
    if not shown:
        result.anew += 1
        step = _undecided(step)
    else:
        result.settled = max(result.settled, aside)
    record.steps = (*record.steps, Proven(step, rest.bound))
    result.record.room.used += step.size
    return (record, rest) if shown and rest.bound > incumbent.objective else None


def _undecided(step: Step) -> Step:
    """Return a step that decides nothing: its bound holds all the same."""
    none, watched = step.free[:0], step.points[len(step.removed) :]
    return replace(step, removed=none, forced=none, points=watched)


def _split(place: Place, split: Split, number: int) -> list[Place | None]:
    """Return the parts without and with a feature: the last one comes first."""
    record, part = place
    rest, chosen = halves(part, split, number)
    record.halves = (
        split.feature,
        RecordedPart(record.room, chosen.bound),
        RecordedPart(record.room, rest.bound),
    )
    return [(record.halves[2], rest), (record.halves[1], chosen)]


def _enumerated(result: Rechecked, incumbent: Incumbent, place: Place) -> None:
    """Enumerate a part that was: better solutions, if there are any, become known that way."""
    record, part = place
    if not holds_selections(incumbent.instance, part):
        return
    free, included = (np.array(sorted(s), dtype=np.int64) for s in (part.free, part.included))
    rest = subproblem(incumbent.instance, free, included)
    done = False
    if comb(rest.n_free, rest.n_select) <= MOST_SELECTIONS:
        if 0 < rest.n_select < rest.n_free:
            done = enumerate_part(incumbent, rest, SECONDS_PER_ENUMERATION)
        else:
            chosen = rest.included if rest.n_select == 0 else np.union1d(free, included)
            incumbent.judge(chosen)
            done = not incumbent.clock.over
    if done:
        record.looked_at = incumbent.objective
    else:
        result.anew += 1
        result.complete = result.complete and not incumbent.clock.over
