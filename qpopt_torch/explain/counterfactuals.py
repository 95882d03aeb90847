"""Counterfactuals: the smallest changes of features after which another class wins.

A rival wins once its sum is the largest of all classes, not only larger than that of the
predicted one. Changing a feature moves all classes that have it alike. So a feature helps against
just those classes that differ from the rival in it: raised if the rival has it, lowered if not.
Where features may have to be absent, it helps against those that it moves less than the rival.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import copysign
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.evidence.gather import Evidence
from qpopt_torch.evidence.sample import Sample, columns_in
from qpopt_torch.explain.decision_terms import sum_of

LISTED = 5
"""How many single features are listed."""
SAME = 1e-9
"""Pairs whose changes differ by less count as equally small."""
LEVEL = 1e-5
"""Sums that differ by less are the same: so far the rounding of a network goes."""


class Reach(IntEnum):
    """Whether a feature can take a value; what is less likely comes later."""

    SEEN = 0
    UNSEEN = 1
    IMPOSSIBLE = 2


@dataclass(frozen=True)
class Move:
    """A change of one feature.

    Parameters
    ----------
    column
        The feature, as a column of the selection.
    by
        It has to rise by more than this or, if it is negative, to fall by more.
    shown
        The same in hundredths, as the difference of sums that are rounded to hundredths.
    reach
        Whether it can: samples reach such a value, none does, or the network never gives it.
    limit
        The least or largest value that samples reach or, if it is impossible, that exists.
    """

    column: int
    by: float
    shown: int
    reach: Reach = Reach.SEEN
    limit: float | None = None

    @property
    def falls(self) -> bool:
        """Whether it has to fall: also where a class that is level is overtaken by any change."""
        return copysign(1.0, self.by) < 0


@dataclass(frozen=True)
class Change:
    """What would have to change for a rival to win.

    Parameters
    ----------
    rival
        The class.
    lead
        The logit of the predicted class minus that of the rival.
    ways
        Single features of which each suffices, the likeliest first; where none does, the smallest
        pair; empty where no pair does either.
    n_more
        Single features that suffice, too, and are not listed.
    idle
        Features in which the two classes differ and that do not suffice alone, as columns: a third
        class stays ahead of the rival.
    pairs
        Whether pairs were looked at: not where features may have to be absent.
    """

    rival: int
    lead: float
    ways: tuple[tuple[Move, ...], ...]
    n_more: int = 0
    idle: tuple[int, ...] = ()
    pairs: bool = True

    @property
    def level(self) -> bool:
        """Whether the sums are the same, so that nothing decides between the two classes."""
        return abs(self.lead) < LEVEL


def change_to(
    sample: Sample,
    assignment: NDArray[Any],
    rival: int,
    evidence: Evidence | None = None,
    constants: NDArray[np.float64] | None = None,
) -> Change:
    """Return what would have to change for a rival to win against all classes.

    Parameters
    ----------
    sample, assignment
        The features of the sample and of the classes.
    rival
        A class that is not predicted.
    evidence
        Tells which values features reach; without it, nothing is said of that.
    constants
        What is added to the sums of the classes; nothing without it.
    """
    added = np.zeros(len(assignment)) if constants is None else constants
    logits = assignment @ sample.values + added
    # By how much the rival gains on every class where a feature rises by 1.
    gains = assignment[rival].astype(np.int64) - assignment.astype(np.int64)
    differs = gains != 0
    signed = bool((assignment.astype(np.int64) < 0).any())
    # The predicted class is ahead even where rounding lets the rival draw level.
    ahead = logits >= logits[rival]
    ahead[sample.prediction], ahead[rival] = True, False
    helps = differs[ahead]
    behind = np.maximum(logits[ahead] - logits[rival], 0.0)
    known = (*columns_in(ahead), rival)
    shown = np.array([sum_of(sample, assignment, c, float(added[c])).shown[0] for c in known])
    behind_shown = np.maximum(shown[:-1] - shown[-1], 0)

    def move(column: int, by: float, hundredths: float) -> Move:
        sign = 1 if (gains[ahead, column] > 0).any() else -1
        target = sample.values[column] + sign * by
        reach, limit = Reach.SEEN, None
        if evidence is not None:
            reach, limit = reached(evidence, column, float(target), rises=sign > 0)
        return Move(column, sign * float(by), sign * int(hundredths), reach, limit)

    steps = np.abs(gains[ahead])
    alone = (gains[ahead] > 0).all(axis=0) | (gains[ahead] < 0).all(axis=0)
    ways: list[tuple[Move, ...]] = []
    for j in columns_in(alone):
        hundredths = -(-behind_shown // steps[:, j])
        ways.append((move(j, float((behind / steps[:, j]).max()), hundredths.max()),))
    ways.sort(key=lambda way: way[0].reach)
    lead = float(logits[sample.prediction] - logits[rival])
    idle = columns_in(differs[sample.prediction] & ~alone)
    if ways:
        return Change(rival, lead, tuple(ways[:LISTED]), len(ways[LISTED:]), idle)
    if signed:
        return Change(rival, lead, (), 0, idle, pairs=False)
    pairs = []
    for i, j in _smallest_pairs(helps, behind):
        shares = zip(_shares(helps, behind, i, j), _shares(helps, behind_shown, i, j), strict=True)
        pairs.append(tuple(move(column, *by) for column, by in zip((i, j), shares, strict=True)))
    best = min(pairs, key=lambda pair: sorted((m.reach for m in pair), reverse=True), default=None)
    return Change(rival, lead, () if best is None else (best,), 0, idle)


def reached(
    evidence: Evidence, column: int, value: float, *, rises: bool
) -> tuple[Reach, float | None]:
    """Return whether a feature can go beyond a value, and the limit that it would break.

    Beyond, for at the value itself the rival is level and not ahead. A limit that differs from it
    by rounding is met, and not passed.
    """
    if not rises and value <= (floor := float(evidence.floors[column])) + LEVEL:
        return Reach.IMPOSSIBLE, floor
    known = evidence.tally
    limit = float((known.largest if rises else known.least)[column])
    beyond = value >= limit - LEVEL if rises else value <= limit + LEVEL
    return (Reach.UNSEEN, limit) if beyond else (Reach.SEEN, None)


def _uncovered(helps: NDArray[np.bool_], behind: NDArray[Any], column: int) -> float:
    """Return by how much the rival is behind where one feature does not help it."""
    return float(behind[~helps[:, column]].max(initial=0))


def _shares(helps: NDArray[np.bool_], behind: NDArray[Any], i: int, j: int) -> tuple[float, float]:
    """Return by how much each of two features has to change, together as little as possible."""
    first, second = _uncovered(helps, behind, j), _uncovered(helps, behind, i)
    return first + max(float(behind.max()) - first - second, 0.0), second


def _smallest_pairs(helps: NDArray[np.bool_], behind: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the pairs of features that suffice together with the smallest sum of changes."""
    left = np.array([_uncovered(helps, behind, j) for j in range(helps.shape[1])])
    covered = np.ones((len(left), len(left)), dtype=bool)
    for row in helps:
        covered &= row[:, None] | row
    cost = np.where(np.triu(covered, 1), np.maximum(left[:, None] + left, behind.max()), np.inf)
    if not np.isfinite(cost).any():
        return []
    pairs: list[tuple[int, int]] = np.argwhere(cost <= cost.min() + SAME).tolist()
    return pairs
