"""Compiled loops of the bounds."""

from __future__ import annotations

import numba


@numba.njit(cache=True, fastmath=True)
def split_slack(G, S, X, inverse, y, t, m, N, W):  # type: ignore[no-untyped-def]
    """Find the best N ≥ 0 for the current y and S, and the matrix W whose positive part is next S.

    The dual slack is D = ½(y_i + y_j) − G_ij off the diagonal and (1 − m) y_i + t − G_ii on it;
    N = max(0, D − S − X/σ) off the diagonal, W = D − N − X/σ.
    """
    n = G.shape[0]
    half = y * y.dtype.type(0.5)
    for i in range(n):
        for j in range(n):
            pull = X[i, j] * inverse
            slack = half[i] + half[j] - G[i, j] - pull
            excess = slack - S[i, j]
            if excess > 0:
                N[i, j] = excess
                W[i, j] = S[i, j]
            else:
                N[i, j] = 0
                W[i, j] = slack
        N[i, i] = 0
        W[i, i] = y[i] - m * y[i] + t - G[i, i] - X[i, i] * inverse


@numba.njit(cache=True)
def cut_values(M, start, row, column, weight, result):  # type: ignore[no-untyped-def]
    """Set result_r to Σ weight · M[row, column] over the entries of cut r."""
    for r in range(len(start) - 1):
        total = 0.0
        for e in range(start[r], start[r + 1]):
            total += weight[e] * M[row[e], column[e]]
        result[r] = total


@numba.njit(cache=True)
def add_cuts(M, start, row, column, weight, factor):  # type: ignore[no-untyped-def]
    """Add Σ_r factor_r · (the symmetric matrix of cut r) to M."""
    for r in range(len(start) - 1):
        if factor[r] != 0.0:
            for e in range(start[r], start[r + 1]):
                i, j = row[e], column[e]
                if i == j:
                    M[i, i] += factor[r] * weight[e]
                else:
                    M[i, j] += 0.5 * factor[r] * weight[e]
                    M[j, i] += 0.5 * factor[r] * weight[e]


@numba.njit(cache=True)
def sweep_cuts(M, start, row, column, weight, squares, prices, multipliers):  # type: ignore[no-untyped-def]
    """Choose the best multiplier of one cut after the other, the others being as they are.

    Parameters
    ----------
    M : free × free, what the cuts are to make smaller; changed: it gets what they add
    start, row, column, weight : the entries of the cuts
    squares : the squared norm of the matrix of every cut
    prices : what a unit of every multiplier costs
    multipliers : one for every cut, ≥ 0; changed
    """
    for r in range(len(start) - 1):
        total = prices[r]
        for e in range(start[r], start[r + 1]):
            total += weight[e] * M[row[e], column[e]]
        old = multipliers[r]
        new = max(0.0, old - total / squares[r])
        if new == old:
            continue
        multipliers[r] = new
        for e in range(start[r], start[r + 1]):
            i, j = row[e], column[e]
            if i == j:
                M[i, i] += (new - old) * weight[e]
            else:
                change = 0.5 * (new - old) * weight[e]
                M[i, j] += change
                M[j, i] += change
