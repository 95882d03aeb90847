"""Compiled loops of the bounds."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def best_thresholds(order, values, X, n_per_class, low, thresholds):  # type: ignore[no-untyped-def]
    """Find the best threshold of every class in every row of X.

    Row i of X over X_ii is a fractional selection given that feature i is selected; the best
    threshold of a class is the similarity at which the selection, cumulated in falling order of
    similarity, reaches n_per_class. Rows with X_ii below `low` say nothing, the diagonal takes
    their place.

    Parameters
    ----------
    order, values : the columns of every class by falling similarity, and the similarities
    X : free × free
    n_per_class : how many features a class gets
    low : smallest X_ii of a row that is used
    thresholds : classes × free, filled in
    """
    n = X.shape[0]
    n_classes, n_columns = order.shape
    weight = np.ones(n_columns)
    for i in range(n):
        given = X[i, i]
        for d in range(n):
            if given > low:
                weight[d] = min(max(X[i, d] / given, 0.0), 1.0)
            else:
                weight[d] = min(max(X[d, d], 0.0), 1.0)
        weight[i] = 1.0
        for c in range(n_classes):
            total = 0.0
            position = 0
            while position < n_columns - 1:
                total += weight[order[c, position]]
                if total >= n_per_class:
                    break
                position += 1
            thresholds[c, i] = values[c, position]


@numba.njit(cache=True)
def lifted_matrix(order, values, thresholds, share, n_per_class, L):  # type: ignore[no-untyped-def]
    """Sum the lifted threshold cuts of all classes, each times its share, into L, free × free.

    n_select · Σ_c top_k(c) ≤ Σ_id L_id X_id for X = ssᵀ: every class c and feature i pays
    k τ_ci + Σ_d (a_cd − τ_ci)⁺ s_d if i is selected. Columns beyond the free ones are selected.
    """
    n = L.shape[0]
    n_classes, n_columns = order.shape
    for i in range(n):
        for d in range(n):
            L[i, d] = 0.0
        own = 0.0
        for c in range(n_classes):
            if share[c] == 0.0:
                continue
            threshold = np.float64(thresholds[c, i])
            own += share[c] * n_per_class * threshold
            for position in range(n_columns):
                gain = values[c, position] - threshold
                if gain <= 0.0:
                    break
                d = order[c, position]
                if d < n:
                    L[i, d] += share[c] * gain
                else:
                    own += share[c] * gain
        L[i, i] += own


@numba.njit(cache=True)
def lifted_values(order, values, thresholds, X, n_per_class, result):  # type: ignore[no-untyped-def]
    """Set result_c to n_select times what the lifted threshold cut of class c gives at X."""
    n = X.shape[0]
    n_classes, n_columns = order.shape
    for c in range(n_classes):
        total = 0.0
        for i in range(n):
            given = X[i, i]
            if given <= 1e-6:
                continue
            threshold = np.float64(thresholds[c, i])
            own = n_per_class * threshold
            for position in range(n_columns):
                gain = values[c, position] - threshold
                if gain <= 0.0:
                    break
                d = order[c, position]
                if d >= n:
                    own += gain
                elif X[i, d] > 0.0:
                    total += gain * X[i, d]
            total += own * given
        result[c] = total


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
def separate_triangles(X, low, neighbours, per_feature, violation, found):  # type: ignore[no-untyped-def]
    """Find X_ij + X_ik ≤ X_ii + X_jk that X violates, the worst few for every i.

    Parameters
    ----------
    X : free × free, symmetric
    low : rows with X_ii below it are left out
    neighbours : features × some, the j with the largest X_ij
    per_feature : how many to keep for every i
    violation, found : features × per_feature (× 2 for j and k), filled in; 0 where none
    """
    n, n_neighbours = neighbours.shape
    for i in range(n):
        for r in range(per_feature):
            violation[i, r] = 0.0
        given = X[i, i]
        if given < low:
            continue
        for p in range(n_neighbours):
            j = neighbours[i, p]
            if j == i:
                continue
            for q in range(p):
                k = neighbours[i, q]
                if k == i:
                    continue
                excess = X[i, j] + X[i, k] - given - X[j, k]
                if excess > violation[i, per_feature - 1]:
                    place = per_feature - 1
                    while place > 0 and violation[i, place - 1] < excess:
                        violation[i, place] = violation[i, place - 1]
                        found[i, place, 0] = found[i, place - 1, 0]
                        found[i, place, 1] = found[i, place - 1, 1]
                        place -= 1
                    violation[i, place] = excess
                    found[i, place, 0] = j
                    found[i, place, 1] = k


@numba.njit(cache=True)
def separate_cliques(X, low, neighbours, starts, largest, members, sizes, violation):  # type: ignore[no-untyped-def]
    """Grow sets K with Σ_{j∈K} X_ij > X_ii + Σ_{j<l∈K} X_jl greedily, from several starts.

    Parameters
    ----------
    X, low, neighbours : as for triangles
    starts : how many first members to try for every i
    largest : the most members of K
    members, sizes, violation : features × starts (× largest), filled in; size 0 where none
    """
    n, n_neighbours = neighbours.shape
    gain = np.empty(n_neighbours)
    for i in range(n):
        given = X[i, i]
        for r in range(starts):
            sizes[i, r] = 0
            violation[i, r] = 0.0
        if given < low:
            continue
        for r in range(min(starts, n_neighbours)):
            for p in range(n_neighbours):
                j = neighbours[i, p]
                gain[p] = X[i, j] if j != i else -1.0
            total = -given
            size = 0
            p = r
            while size < largest and gain[p] > 0.0:
                j = neighbours[i, p]
                members[i, r, size] = j
                size += 1
                total += gain[p]
                gain[p] = -1.0
                for q in range(n_neighbours):
                    gain[q] -= X[j, neighbours[i, q]]
                p = int(np.argmax(gain))
            if size > 1:
                sizes[i, r] = size
                violation[i, r] = total
