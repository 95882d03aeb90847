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
def split_values(order, values, m, k, classes, feature, given, otherwise, M, result):  # type: ignore[no-untyped-def]
    """Set result_r to what cut r gives at M; a constant counts as itself times tr M / m."""
    n = M.shape[0]
    diagonal = np.empty(n)
    for d in range(n):
        diagonal[d] = M[d, d]
    one = diagonal.sum() / m
    for r in range(len(classes)):
        c, i, above, below = classes[r], feature[r], given[r], otherwise[r]
        total = k * below * one
        low = below
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
                total += (max(value - above, 0.0) - gain) * (M[i, d] if d < n else diagonal[i])
        result[r] = total


@numba.njit(cache=True)
def add_splits(order, values, m, k, classes, feature, given, otherwise, factor, M):  # type: ignore[no-untyped-def]
    """Add Σ_r factor_r · (the symmetric matrix of cut r) to M."""
    n = M.shape[0]
    diagonal = np.zeros(n)
    constant = 0.0
    for r in range(len(classes)):
        weight = factor[r]
        if weight == 0.0:
            continue
        c, i, above, below = classes[r], feature[r], given[r], otherwise[r]
        constant += weight * k * below
        low = below
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
    for d in range(n):
        M[d, d] += diagonal[d] + constant / m


@numba.njit(cache=True)
def project_shares(shares, start):  # type: ignore[no-untyped-def]
    """Replace the shares of every class by the nearest ones that are ≥ 0 and add up to 1.

    Parameters
    ----------
    shares : one for every cut; changed
    start : where the cuts of every class begin, and where the last one's end
    """
    for c in range(len(start) - 1):
        first, last = start[c], start[c + 1]
        # Only differences matter, and after this they are exact however large the shares are.
        shares[first:last] -= shares[first:last].max()
        falling = -np.sort(-shares[first:last])
        total, level = 0.0, 0.0
        for p in range(last - first):
            total += falling[p]
            if falling[p] > (total - 1.0) / (p + 1):
                level = (total - 1.0) / (p + 1)
        total = 0.0
        for r in range(first, last):
            shares[r] = max(shares[r] - level, 0.0)
            total += shares[r]
        shares[first:last] /= total
