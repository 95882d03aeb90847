"""The best Z of a small part, by looking at all of its selections: slow, simple, rounded up.

Nothing here is shared with the enumeration of a solve.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Set
from itertools import chain, combinations, islice
from math import comb, inf

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance
from qpopt.verification.outward import lost, upper_sum

MOST_SELECTIONS = 100_000
"""A part with more of them needs another proof."""

AT_ONCE = 1_000
FEW_SETS = 2_000
"""So many sets of features are listed outright; of more, every class lists its best ones."""

Array = NDArray[np.float64]


def best_of_all(instance: Instance, included: Set[int], free: Set[int]) -> float:
    """Return a number that no selection with `included` and otherwise only `free` exceeds.

    Raises
    ------
    InvalidCertificate
        If there are more than MOST_SELECTIONS.
    """
    m = instance.n_select - len(included)
    if comb(len(free), m) > MOST_SELECTIONS:
        raise InvalidCertificate("A part is said to be enumerated and has too many selections.")
    base = sorted(included)
    best = -inf
    rest = combinations(sorted(free), m)
    while chunk := list(islice(rest, AT_ONCE)):
        flat = chain.from_iterable(base + list(one) for one in chunk)
        selections = np.fromiter(flat, dtype=np.int64).reshape(len(chunk), instance.n_select)
        relaxed, kept = _relaxed_values(instance, selections)
        for i in np.argsort(-relaxed, kind="stable"):
            if relaxed[i] <= best:
                break
            gain = _distinct_gain(instance.A[:, selections[i]], instance.n_per_class)
            best = max(best, kept[i] + gain)
    return upper_sum([best, _rounding(instance)])


def _rounding(instance: Instance) -> float:
    """Return what all the sums for one selection can have lost: they add up to no more than this.

    The matching of classes with sets is exact for the gains it is given, up to sums of C of them.
    """
    m, k, C = instance.n_select, instance.n_per_class, instance.n_classes
    size = C * k * float(np.abs(instance.A).max()) + m * float(np.abs(instance.b).max())
    size += m * m * float(instance.R.max(initial=0.0))
    return lost(8 * (m * m + C * k) + 64) * size


def _relaxed_values(instance: Instance, selections: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return Z without uniqueness for every selection, and the part that is bias and redundancy."""
    kept = instance.b[selections].sum(axis=1)
    pairs = instance.R[selections[:, :, None], selections[:, None, :]]
    kept -= np.triu(pairs, 1).sum(axis=(1, 2))
    gains = np.zeros(len(selections))
    for row in instance.A:
        gains += np.sort(row[selections], axis=1)[:, -instance.n_per_class :].sum(axis=1)
    # Between two selections rounding must not decide which is looked at.
    return kept + gains + _rounding(instance), kept


def _distinct_gain(A: Array, k: int) -> float:
    """Return what the classes gain at most from different sets of k of these features.

    Where a class has its best set in an optimal assignment or not, it has one of its C best: at
    most C − 1 of them are taken by others.
    """
    n_classes, n = A.shape
    order = np.argsort(-A, axis=1, kind="stable")
    first = [frozenset(row) for row in order[:, :k].tolist()]
    if len(set(first)) == n_classes:
        return float(np.take_along_axis(A, order[:, :k], axis=1).sum())
    if comb(n, k) <= FEW_SETS:
        sets = list(combinations(range(n), k))
    else:
        sets = sorted({one for row in A for one in islice(_best_sets(row, k), n_classes)})
    gains = A[:, np.array(sets)].sum(axis=2)
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return float(gains[rows, columns].sum())


def _best_sets(row: Array, k: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of k features by falling sum."""
    order = np.argsort(-row, kind="stable").tolist()
    start = tuple(range(k))
    seen = {start}
    heap = [(-float(row[order[:k]].sum()), start)]
    while heap:
        _, places = heapq.heappop(heap)
        yield tuple(sorted(order[p] for p in places))
        for i, p in enumerate(places):
            following = (*places[:i], p + 1, *places[i + 1 :])
            free = p + 1 < len(order) and p + 1 not in places
            if free and following not in seen:
                seen.add(following)
                value = -float(row[[order[q] for q in following]].sum())
                heapq.heappush(heap, (value, following))
