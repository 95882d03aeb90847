"""Cuts of two classes that share all features but one each; see `qpopt.cuts.overlap`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from qpopt.cuts.overlap import OverlapCut, overlap_cut

Vector = NDArray[np.float64]


def best_of_pair(A: Vector, pair: tuple[int, int], weight: Vector, k: int) -> OverlapCut:
    """Return the strongest cut of two classes that are a pair; all else as for `best_overlap`."""
    thresholds, sigma = pair_multipliers(A[list(pair)], weight, k)
    return overlap_cut(A, pair, thresholds, sigma, k)


def pair_multipliers(rows: Vector, weight: Vector, k: int) -> tuple[Vector, float]:
    """Return the thresholds and σ of the strongest cut of a pair at a fractional selection.

    They are the multipliers of a transport problem: k − 1 features in common, and one more feature
    for either class, all within what is selected. `rows` are those of the two classes.
    """
    used = np.flatnonzero(weight > 1e-7)
    wanted = np.zeros(len(used), dtype=bool)
    for values in (rows[0], rows[1], rows[0] + rows[1]):
        order = np.argsort(-values[used], kind="stable")
        reach = int(np.searchsorted(np.cumsum(weight[used][order]), k + 3.0)) + 2
        wanted[order[:reach]] = True
    used = used[wanted]
    n = len(used)
    first, second = rows[:, used]
    column = np.arange(3 * n)
    once = np.ones(3 * n)
    result = linprog(
        -np.concatenate([first + second, first, second]),
        A_ub=coo_array((once, (column % n, column)), shape=(n, 3 * n)).tocsr(),
        b_ub=weight[used],
        A_eq=coo_array((once, (column // n, column)), shape=(3, 3 * n)).tocsr(),
        b_eq=[k - 1.0, 1.0, 1.0],
        method="highs",
    )
    if result.status != 0:
        return np.full(2, float(rows.mean())), 0.0
    common, one, other = (-result.eqlin.marginals).tolist()
    return np.array([one, other]), common - one - other
