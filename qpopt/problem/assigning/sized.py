"""Distinct sets under an average budget: a matching at a price of size, then a few features moved.

At any price θ of a feature, the best distinct sets of all sizes are a matching, and what they are
worth, with θ for every feature that they have fewer or more than there must be, bounds all
assignments. The price is moved until the sizes add up, or nearly so.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.matching import best_subsets
from qpopt.problem.assigning.growing import falling_gains, size_price
from qpopt.problem.assignment import Matching

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance

Vector = NDArray[np.float64]
Signs = NDArray[np.int8]

PRICES = 8
"""How many prices of size are tried."""

NEARLY = 1e-4
"""Sets that are so near to their bound, relative to their value, are good enough."""

FIRST_STEP = 0.02
"""The first step of the price, relative to how far gains lie apart."""


def sized_sets(instance: Instance, selection: NDArray[np.int64]) -> tuple[Signs | None, float]:
    """Return good distinct sets whose sizes add up, or None, and a bound of all assignments.

    The classes must all have the same least and most number of features, and no negatives.
    """
    gains, least, most = falling_gains(instance, selection)
    if len(set(least.tolist())) > 1 or len(set(most.tolist())) > 1:
        return None, np.inf
    total, price = instance.budgets.total, size_price(instance, selection)
    step = FIRST_STEP * max(float(np.ptp(instance.A[:, selection])), 1e-12)
    low, high = -np.inf, np.inf
    best, best_value, bound = None, -np.inf, np.inf
    for _ in range(PRICES):
        matching = _SizedMatching(gains, int(least[0]), int(most[0]), price)
        if matching.n_sets < len(gains):
            return None, np.inf
        signs = matching.signs()
        missing = total - int(signs.sum())
        bound = min(bound, float(gains[signs > 0].sum()) + price * missing)
        if _adjust(gains, signs, int(least[0]), int(most[0]), missing):
            value = float(gains[signs > 0].sum())
            if value > best_value:
                best, best_value = signs, value
        if missing == 0 or bound <= best_value + NEARLY * abs(best_value):
            break
        low, high = (low, price) if missing > 0 else (price, high)
        if np.isinf(low) or np.isinf(high):
            price += -step if missing > 0 else step
            step *= 2.0
        else:
            price = 0.5 * (low + high)
    return best, bound


def _adjust(gains: Vector, signs: Signs, least: int, most: int, missing: int) -> bool:
    """Add features that are missing, or drop the surplus, where that costs least; tell if done."""
    known = {row.tobytes() for row in signs}
    for _ in range(abs(missing)):
        if missing > 0:
            open_ = np.where((signs == 0) & (signs.sum(axis=1) < most)[:, None], gains, -np.inf)
        else:
            open_ = np.where((signs == 1) & (signs.sum(axis=1) > least)[:, None], -gains, -np.inf)
        for cell in np.argsort(-open_, axis=None, kind="stable").tolist():
            c, j = divmod(cell, gains.shape[1])
            if open_[c, j] == -np.inf:
                return False
            row = signs[c].copy()
            row[j] = 1 - row[j]
            if row.tobytes() not in known:
                known.discard(signs[c].tobytes())
                known.add(row.tobytes())
                signs[c] = row
                break
        else:
            return False
    return True


class _SizedMatching(Matching):
    """Sets of several sizes, each filled up to the largest by the first columns of the price."""

    def __init__(self, gains: Vector, least: int, most: int, price: float) -> None:
        n = gains.shape[1]
        rows = np.hstack([gains, np.full((len(gains), most - least), price)])
        order = np.argsort(-rows, axis=1, kind="stable")
        n_sets = sum(comb(n, size) for size in range(least, most + 1))
        super().__init__(rows, order, most, n_sets)
        self._n, self._least = n, least

    def signs(self) -> Signs:
        """Return the best distinct sets."""
        taken = np.zeros((sum(map(len, self.members)), self.rows.shape[1]), np.int8)
        np.put_along_axis(taken, self.solve(lambda: False), 1, axis=1)
        return np.ascontiguousarray(taken[:, : self._n])

    def subsets(self, g: int, count: int) -> NDArray[np.int64]:
        place = np.argsort(self.order[g], kind="stable")
        real = np.flatnonzero(self.order[g] < self._n)
        parts = []
        for size in range(self._least, self.size + 1):
            found = best_subsets(self.falling[g][real], size, min(count, comb(self._n, size)))
            filling = place[self._n : self._n + self.size - size]
            rest = np.tile(filling, (len(found), 1))
            parts.append(np.hstack([real[found], rest]))
        every = np.vstack(parts)
        worth = self.falling[g][every].sum(axis=1)
        chosen: NDArray[np.int64] = every[np.argsort(-worth, kind="stable")[:count]]
        return chosen
