"""Making all classes different by the cheapest swaps, as the published scheme does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.assignment import assign


def distinct_by_swaps(
    A: NDArray[np.float64], selection: NDArray[np.int64], assignment: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Exchange features of single classes, the cheapest first, until no two classes are equal.

    Parameters
    ----------
    A, selection
        As for `assign`.
    assignment
        Boolean classes × selected features.

    Returns
    -------
    NDArray
        An assignment in which all classes differ. Where no single swap helps, because the classes
        use up nearly all sets, it is the best assignment of all.
    """
    similarity = A[:, selection]
    distinct = assignment.copy()
    holders: dict[bytes, int] = {}
    for row in distinct:
        holders[row.tobytes()] = holders.get(row.tobytes(), 0) + 1
    while any(count > 1 for count in holders.values()):
        swap = _cheapest_swap(similarity, distinct, holders)
        if swap is None:
            return assign(A, selection, int(assignment[0].sum()))
        c, given, taken = swap
        holders[distinct[c].tobytes()] -= 1
        distinct[c, given], distinct[c, taken] = False, True
        holders[distinct[c].tobytes()] = 1
    return distinct


def _cheapest_swap(
    similarity: NDArray[np.float64], assignment: NDArray[np.bool_], holders: dict[bytes, int]
) -> tuple[int, int, int] | None:
    """Return the class, the feature to give away and the one to take that cost least."""
    best, cheapest = None, np.inf
    for c, row in enumerate(assignment):
        if holders[row.tobytes()] < 2:
            continue
        for given in np.flatnonzero(row):
            for taken in np.flatnonzero(~row):
                cost = similarity[c, given] - similarity[c, taken]
                if cost < cheapest and not holders.get(_swapped(row, given, taken)):
                    best, cheapest = (c, int(given), int(taken)), cost
    return best


def _swapped(row: NDArray[np.bool_], given: int, taken: int) -> bytes:
    changed = row.copy()
    changed[given], changed[taken] = False, True
    return changed.tobytes()
