"""Safe values: what any iterate proves, with the rounding of floating point paid for.

Let Z ≤ offset + sᵀMs for every selection s of n_select features. For any symmetric B

    sᵀMs = sᵀ(M + B)s − sᵀBs ≤ rows(M + B) + n_select · max(0, −λ_min(B)),

where rows(Q) picks n_select rows, and in each the diagonal and the n_select − 1 largest other
entries: a selection picks one such pattern. With B ⪰ 0 the second term vanishes; with
B = −M − N, N ≥ 0, the first one does. Deciding a feature restricts the pattern, so the same rows
prove which features no better selection contains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.relaxations.eigenvalues import EPS
from qpopt.relaxations.feature_bounds import FeatureBounds


def rows_value(Q: NDArray[np.float64], n_select: int) -> float:
    """Return rows(Q), rounded up."""
    v, _, _ = _row_sums(Q, n_select)
    return _rounded_up(float(_largest(v, n_select).sum()), Q, n_select)


def row_bound(Q: NDArray[np.float64], n_select: int) -> FeatureBounds:
    """Return rows(Q) and what it becomes when one feature is decided."""
    n = len(Q)
    v, last, following = _row_sums(Q, n_select)
    value = _rounded_up(float(_largest(v, n_select).sum()), Q, n_select)
    margin = value - float(_largest(v, n_select).sum())

    off = Q.copy()
    np.fill_diagonal(off, -np.inf)
    # Row i when d is selected too: d is among the picked entries or replaces the last of them.
    given = v[:, None] + np.minimum(off - last[:, None], 0.0)
    with_feature = v.copy()
    if n_select > 1:
        np.fill_diagonal(given, -np.inf)
        with_feature += np.partition(given, n - n_select + 1, axis=0)[n - n_select + 1 :].sum(
            axis=0
        )

    without_feature = np.full(n, -np.inf)
    if n > n_select:
        # Row i without d: the entry after the last picked one comes in for it.
        rest = np.repeat(v[:, None], n, axis=1)
        if n_select > 1:
            rest -= np.where(off >= last[:, None], off - following[:, None], 0.0)
        np.fill_diagonal(rest, -np.inf)
        without_feature = np.partition(rest, n - n_select, axis=0)[n - n_select :].sum(axis=0)
    return FeatureBounds(value, with_feature + margin, without_feature + margin)


def _row_sums(
    Q: NDArray[np.float64], n_select: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the value of every row, its smallest picked entry and its largest other one."""
    n = len(Q)
    diagonal = np.diagonal(Q).copy()
    if n_select == 1:
        return diagonal, np.full(n, np.inf), np.full(n, np.inf)
    off = Q.copy()
    np.fill_diagonal(off, -np.inf)
    first = n - n_select + 1
    if first == 1:
        off.sort(axis=1)
    else:
        off.partition([first - 1, first], axis=1)
    v = diagonal + off[:, first:].sum(axis=1)
    return v, off[:, first].copy(), off[:, first - 1].copy()


def _largest(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.partition(values, len(values) - count)[len(values) - count :]


def _rounded_up(value: float, Q: NDArray[np.float64], n_select: int) -> float:
    """Add the most that summing n_select² entries of Q can have lost."""
    return value + 4.0 * n_select**3 * EPS * float(np.abs(Q).max())
