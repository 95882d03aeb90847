"""Compiled loops of the split threshold cuts."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def _top(order, values, c, X, i, scale, given, n_per_class):  # type: ignore[no-untyped-def]
    """Return (what class c gains, its threshold) where i is selected, or where it is not.

    The selection is row i of X, or the diagonal without row i; both add up to `scale` times a
    selection, and so does the gain. With i < 0 it is the diagonal itself.
    """
    n = X.shape[0]
    n_columns = order.shape[1]
    total, gain, goal = 0.0, 0.0, n_per_class * scale
    for position in range(n_columns):
        d = order[c, position]
        if d >= n:
            weight = scale
        elif i < 0:
            weight = X[d, d]
        elif given:
            weight = X[i, d]
        else:
            weight = X[d, d] - X[i, d]
        weight = min(max(weight, 0.0), scale)
        value = values[c, position]
        if total + weight >= goal or position == n_columns - 1:
            return gain + (goal - total) * value, value
        total += weight
        gain += weight * value
    return gain, values[c, n_columns - 1]


@numba.njit(cache=True)
def best_splits(order, values, X, n_per_class, low, feature, given, otherwise, gains):  # type: ignore[no-untyped-def]
    """Find the features whose split makes the cut of every class strongest at X.

    Parameters
    ----------
    order, values : the columns of every class by falling similarity, and the similarities
    X : free × free
    n_per_class : how many features a class gets
    low : features with a diagonal nearer than this to 0 or 1 are not tried
    feature, given, otherwise, gains : classes × some, filled in, the strongest first; feature −1
        is the cut without a split
    """
    n = X.shape[0]
    n_classes, n_best = feature.shape
    for c in range(n_classes):
        gain, threshold = _top(order, values, c, X, -1, 1.0, True, n_per_class)
        for r in range(n_best):
            feature[c, r], gains[c, r] = -1, gain
            given[c, r] = otherwise[c, r] = threshold
        for i in range(n):
            own = X[i, i]
            if own < low or own > 1.0 - low:
                continue
            with_i, above = _top(order, values, c, X, i, own, True, n_per_class)
            without_i, below = _top(order, values, c, X, i, 1.0 - own, False, n_per_class)
            gain = with_i + without_i
            if gain >= gains[c, n_best - 1]:
                continue
            r = n_best - 1
            while r > 0 and gain < gains[c, r - 1]:
                feature[c, r], gains[c, r] = feature[c, r - 1], gains[c, r - 1]
                given[c, r], otherwise[c, r] = given[c, r - 1], otherwise[c, r - 1]
                r -= 1
            feature[c, r], gains[c, r], given[c, r], otherwise[c, r] = i, gain, above, below


@numba.njit(cache=True)
def _value(order, values, c, i, above, below, k, M, diagonal, one):  # type: ignore[no-untyped-def]
    """Return what a cut of class c gives at M.

    Its diagonal is read from `diagonal`; `one` is what stands for the number 1: tr M / m.
    """
    n = M.shape[0]
    total, low = k * below * one, below
    if i >= 0:
        total += k * (above - below) * diagonal[i]
        low = min(above, below)
    for position in range(order.shape[1]):
        value = values[c, position]
        if value <= low:
            break
        d = order[c, position]
        gain = max(value - below, 0.0)
        total += gain * (diagonal[d] if d < n else one)
        if i >= 0:
            together = diagonal[i] if d == i or d >= n else M[i, d]
            total += (max(value - above, 0.0) - gain) * together
    return total


@numba.njit(cache=True)
def _add(order, values, c, i, above, below, k, weight, M, diagonal):  # type: ignore[no-untyped-def]
    """Add weight · (the matrix of a cut) to M and `diagonal`, but for a multiple of I / m.

    Returns that multiple.
    """
    n = M.shape[0]
    constant, low = weight * k * below, below
    if i >= 0:
        diagonal[i] += weight * k * (above - below)
        low = min(above, below)
    for position in range(order.shape[1]):
        value = values[c, position]
        if value <= low:
            break
        d = order[c, position]
        gain = max(value - below, 0.0)
        if d < n:
            diagonal[d] += weight * gain
        else:
            constant += weight * gain
        if i < 0:
            continue
        change = weight * (max(value - above, 0.0) - gain)
        if d == i or d >= n:
            diagonal[i] += change
        else:
            M[i, d] += 0.5 * change
            M[d, i] += 0.5 * change
    return constant


@numba.njit(cache=True)
def _diagonal(M):  # type: ignore[no-untyped-def]
    result = np.empty(M.shape[0])
    for d in range(M.shape[0]):
        result[d] = M[d, d]
    return result


@numba.njit(cache=True)
def split_values(order, values, m, k, classes, feature, given, otherwise, M, result):  # type: ignore[no-untyped-def]
    """Set result_r to what cut r gives at M; a constant counts as itself times tr M / m."""
    diagonal = _diagonal(M)
    one = diagonal.sum() / m
    for r in range(len(classes)):
        result[r] = _value(
            order, values, classes[r], feature[r], given[r], otherwise[r], k, M, diagonal, one
        )


@numba.njit(cache=True)
def add_splits(order, values, m, k, classes, feature, given, otherwise, factor, M):  # type: ignore[no-untyped-def]
    """Add Σ_r factor_r · (the symmetric matrix of cut r) to M."""
    diagonal = np.zeros(M.shape[0])
    constant = 0.0
    for r in range(len(classes)):
        if factor[r] != 0.0:
            constant += _add(
                order, values, classes[r], feature[r], given[r], otherwise[r], k, factor[r], M,
                diagonal,
            )  # fmt: skip
    for d in range(M.shape[0]):
        M[d, d] += diagonal[d] + constant / m


@numba.njit(cache=True)
def share_curvatures(  # type: ignore[no-untyped-def]
    order, values, m, k, feature, given, otherwise, start, power_steps, scratch, result
):
    """Estimate how strongly the shares of every class act: result_c becomes ‖T Tᵀ‖.

    T takes a matrix to the cuts of class c less their average.

    Parameters
    ----------
    start : where the cuts of every class begin, and where the last one's end
    power_steps : how long to iterate
    scratch : free × free, zero; left as it was
    """
    n = scratch.shape[0]
    diagonal = np.zeros(n)
    for c in range(len(start) - 1):
        first, last = start[c], start[c + 1]
        v = np.cos(np.arange(last - first) * 2.4)
        for _ in range(power_steps):
            v -= v.mean()
            result[c] = np.sqrt((v * v).sum())
            if result[c] == 0.0:
                break
            v /= result[c]
            diagonal[:] = 0.0
            constant = 0.0
            for r in range(first, last):
                constant += _add(
                    order, values, c, feature[r], given[r], otherwise[r], k, v[r - first],
                    scratch, diagonal,
                )  # fmt: skip
            diagonal += constant / m
            one = diagonal.sum() / m
            for r in range(first, last):
                v[r - first] = _value(
                    order, values, c, feature[r], given[r], otherwise[r], k, scratch, diagonal, one
                )
            for r in range(first, last):
                _clear(order, values, c, feature[r], min(given[r], otherwise[r]), scratch)


@numba.njit(cache=True)
def _clear(order, values, c, i, low, M):  # type: ignore[no-untyped-def]
    """Set what `_add` has changed in M back to zero."""
    if i < 0:
        return
    for position in range(order.shape[1]):
        if values[c, position] <= low:
            break
        d = order[c, position]
        if d < M.shape[0]:
            M[i, d] = M[d, i] = 0.0


@numba.njit(cache=True)
def sweep_shares(  # type: ignore[no-untyped-def]
    order, values, m, k, feature, given, otherwise, start, left, lengths, shares, residual
):
    """Move the shares of one class after the other so that the residual becomes smaller.

    Parameters
    ----------
    start : where the cuts of every class begin, and where the last one's end
    left : how much of every class its cuts stand for
    lengths : the step length of every class
    shares : one for every cut; changed
    residual : free × free; changed: it loses what the cuts gain
    """
    n = residual.shape[0]
    diagonal = _diagonal(residual)
    for c in range(len(start) - 1):
        first, last = start[c], start[c + 1]
        if left[c] <= 0.0 or last - first < 2:
            continue
        one = diagonal.sum() / m
        moved = np.empty(last - first)
        for r in range(first, last):
            moved[r - first] = shares[r] + lengths[c] * left[c] * _value(
                order, values, c, feature[r], given[r], otherwise[r], k, residual, diagonal, one
            )
        project_shares(moved)
        constant = 0.0
        for r in range(first, last):
            change = moved[r - first] - shares[r]
            if change != 0.0:
                shares[r] = moved[r - first]
                constant += _add(
                    order, values, c, feature[r], given[r], otherwise[r], k, -left[c] * change,
                    residual, diagonal,
                )  # fmt: skip
        diagonal += constant / m
    for d in range(n):
        residual[d, d] = diagonal[d]


@numba.njit(cache=True)
def project_shares(shares):  # type: ignore[no-untyped-def]
    """Replace shares by the nearest ones that are ≥ 0 and add up to 1."""
    # Only differences matter, and after this they are exact however large the shares are.
    shares -= shares.max()
    falling = -np.sort(-shares)
    total, level = 0.0, 0.0
    for p in range(len(shares)):
        total += falling[p]
        if falling[p] > (total - 1.0) / (p + 1):
            level = (total - 1.0) / (p + 1)
    total = 0.0
    for r in range(len(shares)):
        shares[r] = max(shares[r] - level, 0.0)
        total += shares[r]
    shares /= total
