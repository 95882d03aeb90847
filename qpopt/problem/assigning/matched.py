"""The best distinct sets where every class has a number of its own: a matching, provably optimal.

Forbidden, required and missing features are costs beside which nothing else counts, so an
assignment that pays one shows that the selection allows none without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.matching import best_subsets
from qpopt.problem.assignment import Matching

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance

Vector = NDArray[np.float64]
Signs = NDArray[np.int8]


class Columns(NamedTuple):
    """What a class takes its set from: columns of the selection, some that are added, negatives.

    Parameters
    ----------
    values
        Classes × columns.
    n_selected, n_added
        How many columns stand for a feature, and how many are added; negatives are the rest.
    size, most_negative
        How many columns a class takes, and how many negatives among them.
    """

    values: Vector
    n_selected: int
    n_added: int
    size: int
    most_negative: int


def matched_sets(
    instance: Instance, selection: NDArray[np.int64], over: Callable[[], bool] = lambda: False
) -> Signs | None:
    """Return the best distinct sets of classes with fixed budgets; None where there are none.

    Heeds budgets, forbidden and required assignments and negatives, and nothing else. Once `over`
    says that time is over, it is an assignment that may not be the best, or None.
    """
    columns = columns_of(instance, selection)
    n_sets = number_of_sets(columns)
    if n_sets < instance.n_classes:
        return None
    order = np.argsort(-columns.values, axis=1, kind="stable")
    matching = _SignedMatching(columns, order, n_sets)
    chosen = matching.solve(over)
    taken = np.zeros(columns.values.shape, dtype=bool)
    np.put_along_axis(taken, chosen, True, axis=1)
    return signs_of(instance, selection, columns, taken)


def columns_of(instance: Instance, selection: NDArray[np.int64]) -> Columns:
    """Return what the classes take their sets from."""
    A, n_selected = instance.A[:, selection], len(selection)
    sizes = instance.budgets.most
    size = int(sizes.max())
    parts = [A]
    if instance.negative is not None:
        parts.append(-instance.gamma * A)
    largest = max(float(np.abs(part).max()) for part in parts)
    # More than all classes can gain or lose together.
    penalty = 4.0 * (1.0 + instance.n_classes * size) * max(largest, 1e-9)
    required = instance.required_cells[:, selection]
    forbidden = instance.forbidden_cells[:, selection]
    parts[0] = np.where(required, A + penalty, np.where(forbidden, A - penalty, A))
    if len(parts) == 2:
        parts[1] = np.where(forbidden | required, parts[1] - penalty, parts[1])
    missing = size - sizes
    must = np.arange(int(missing.max())) < missing[:, None]
    parts.insert(1, np.where(must, penalty, -penalty))
    return Columns(np.hstack(parts), n_selected, must.shape[1], size, instance.most_negative)


def number_of_sets(columns: Columns) -> int:
    """Return how many sets there are, whatever they cost."""
    n, size = columns.n_selected, columns.size
    if columns.values.shape[1] == n + columns.n_added:
        return comb(n + columns.n_added, size)
    return sum(
        comb(n, j) * comb(n - j + columns.n_added, size - j)
        for j in range(min(columns.most_negative, size) + 1)
    )


def signs_of(
    instance: Instance, selection: NDArray[np.int64], columns: Columns, taken: NDArray[np.bool_]
) -> Signs | None:
    """Return an assignment as numbers 1, 0 and −1, or None where it breaks a demand."""
    n, end = columns.n_selected, columns.n_selected + columns.n_added
    signs: Signs = taken[:, :n].astype(np.int8)
    if taken.shape[1] > end:
        signs -= taken[:, end:]
    used = signs != 0
    broken = (used & instance.forbidden_cells[:, selection]).any()
    broken |= (instance.required_cells[:, selection] & (signs != 1)).any()
    broken |= (used.sum(axis=1) != instance.budgets.most).any()
    return None if broken else signs


class _SignedMatching(Matching):
    """Sets of columns no two of which stand for the same feature, with few negatives."""

    def __init__(self, columns: Columns, order: NDArray[np.int64], n_sets: int) -> None:
        super().__init__(columns.values, order, columns.size, n_sets)
        self._columns = columns
        self._n_all = comb(columns.values.shape[1], columns.size)

    def subsets(self, g: int, count: int) -> NDArray[np.int64]:
        asked = count
        while True:
            asked = min(asked, self._n_all)
            found: NDArray[np.int64] = best_subsets(self.falling[g], self.size, asked)
            valid = found[self._valid(self.order[g][found])]
            if len(valid) >= count or asked == self._n_all:
                return valid[:count]
            asked *= 2

    def every(self) -> Iterator[NDArray[np.int64]]:
        return (chosen for chosen in super().every() if self._valid(chosen[None, :])[0])

    def _valid(self, sets: NDArray[np.int64]) -> NDArray[np.bool_]:
        columns = self._columns
        end = columns.n_selected + columns.n_added
        negative = sets >= end
        features = np.sort(np.where(negative, sets - end, sets), axis=1)
        distinct = (np.diff(features, axis=1) > 0).all(axis=1)
        valid: NDArray[np.bool_] = distinct & (negative.sum(axis=1) <= columns.most_negative)
        return valid
