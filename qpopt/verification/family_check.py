"""What a few classes gain at the most by distinct sets of a few features that they pay for.

All sets of the features are looked at, whatever found them, and sums are rounded up. Nothing here
is shared with the code that finds bounds.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from qpopt.verification.outward import lost, upper_sum

if TYPE_CHECKING:
    from qpopt.cuts.families import Family

Array = NDArray[np.float64]

LARGEST_CORE = 16
LARGEST_FAMILY = 16
"""With more, looking at everything takes too long."""

AMONG = 3
"""Sets of k are made of a class's best k + 3 features; another one counts as nobody else's."""


def most_of_family(A: Array, family: Family, thresholds: Array, k: int) -> float:
    """Return a number that is no smaller than what the family says it gains, nor than the truth.

    Parameters
    ----------
    A
        What the classes of the family gain, classes × features of the instance.
    family, thresholds
        The multipliers.
    k
        How many features a class gets.
    """
    rows = np.ascontiguousarray(A[:, family.core])
    return _most(rows.tobytes(), thresholds.tobytes(), family.prices.tobytes(), family.most, k)


@lru_cache(maxsize=4096)
def _most(rows_: bytes, thresholds_: bytes, prices_: bytes, claimed: float, k: int) -> float:
    """Look at all features that may be used; steps of one proof ask for the same again."""
    thresholds, prices = np.frombuffer(thresholds_), np.frombuffer(prices_)
    q, p = len(thresholds), len(prices)
    rows = np.frombuffer(rows_).reshape(q, p)
    # Every value is made of these, in far fewer operations, those of a matching among them.
    size = float((np.abs(rows) + np.abs(thresholds)[:, None]).sum() + prices.sum())
    rounding = lost(64 * q * (p + q)) * size
    if not isfinite(size):
        return inf
    gains = rows - thresholds[:, None]
    used = (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)
    relaxed = -(used @ prices)
    for row in gains:
        count = np.zeros(len(used), dtype=np.int64)
        for d in np.argsort(-row, kind="stable")[: np.count_nonzero(row > 0)].tolist():
            taken = used[:, d] & (count < k)
            relaxed += np.where(taken, row[d], 0.0)
            count += taken
    best = low = claimed - rounding
    for number in np.argsort(-relaxed, kind="stable").tolist():
        if relaxed[number] <= best:
            break
        inside = np.flatnonzero(used[number])
        value = _distinct(gains[:, inside], k) - float(prices[inside].sum())
        best = max(best, min(value, float(relaxed[number])))
    return claimed if best == low else max(claimed, upper_sum([best, rounding]))


def _distinct(gains: Array, k: int) -> float:
    """Return what classes gain by distinct sets of k features, or by fewer than k, at the most."""
    places: dict[tuple[int, ...], int] = {}
    worth: list[dict[int, float]] = []
    alone = np.zeros(len(gains))
    for c, row in enumerate(gains):
        order = np.argsort(-row, kind="stable")[: np.count_nonzero(row > 0)].tolist()
        alone[c] = row[order[: k - 1]].sum()
        if len(order) > k + AMONG:
            alone[c] += row[order[k + AMONG]]
        own: dict[int, float] = {}
        for chosen in combinations(sorted(order[: k + AMONG]), k):
            own[places.setdefault(chosen, len(places))] = float(row[list(chosen)].sum())
        worth.append(own)
    table = np.full((len(gains), len(places) + len(gains)), -np.inf)
    for c, own in enumerate(worth):
        table[c, list(own)] = list(own.values())
        table[c, len(places) + c] = alone[c]
    chosen_rows, chosen_columns = linear_sum_assignment(table, maximize=True)
    return float(table[chosen_rows, chosen_columns].sum())
