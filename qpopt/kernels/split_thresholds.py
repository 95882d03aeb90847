"""Compiled loops of the split threshold cuts.

`columns` are ClassColumns and `cuts` SplitThresholdCuts of `qpopt.cuts.split_thresholds`; `start`
says where the cuts of every class begin, and where the last one's end. The helpers of a single cut
take the rows of its class: handing whole tuples of arrays to them costs a third of their work.
"""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled


@compiled()
def _top(columns, c, X, i, scale, given):
    """Return (what class c gains, its threshold) where i is selected, or where it is not.

    The selection is row i of X, or the diagonal without row i; both add up to `scale` times a
    selection, and so does the gain. With i < 0 it is the diagonal itself.
    """
    n, n_columns = X.shape[0], columns.order.shape[1]
    total, gain, goal = 0.0, 0.0, columns.n_per_class * scale
    for position in range(n_columns):
        d = columns.order[c, position]
        if d >= n:
            weight = scale
        elif i < 0:
            weight = X[d, d]
        elif given:
            weight = X[i, d]
        else:
            weight = X[d, d] - X[i, d]
        weight = min(max(weight, 0.0), scale)
        value = columns.values[c, position]
        if total + weight >= goal or position == n_columns - 1:
            return gain + (goal - total) * value, value
        total += weight
        gain += weight * value
    return gain, columns.values[c, n_columns - 1]


@compiled()
def best_splits(columns, X, n_best, low):
    """Find the features whose split makes the cut of every class strongest at X.

    Features with a diagonal nearer than `low` to 0 or 1 are not tried. Returns, classes × n_best
    and the strongest first: the features, −1 for the cut without a split; the thresholds where they
    are selected and where not; what the cuts give at X.
    """
    shape = (columns.order.shape[0], n_best)
    feature = np.full(shape, -1)
    given, otherwise, gains = np.empty(shape), np.empty(shape), np.empty(shape)
    for c in range(shape[0]):
        gains[c], given[c] = _top(columns, c, X, -1, 1.0, True)
        otherwise[c] = given[c]
        for i in range(X.shape[0]):
            own = X[i, i]
            if own < low or own > 1.0 - low:
                continue
            with_i, above = _top(columns, c, X, i, own, True)
            without_i, below = _top(columns, c, X, i, 1.0 - own, False)
            gain = with_i + without_i
            if gain >= gains[c, n_best - 1]:
                continue
            r = n_best - 1
            while r > 0 and gain < gains[c, r - 1]:
                feature[c, r], gains[c, r] = feature[c, r - 1], gains[c, r - 1]
                given[c, r], otherwise[c, r] = given[c, r - 1], otherwise[c, r - 1]
                r -= 1
            feature[c, r], gains[c, r], given[c, r], otherwise[c, r] = i, gain, above, below
    return feature, given, otherwise, gains


@compiled()
def _value(order, values, i, above, below, k, M, diagonal):
    """Return what a cut gives at M.

    The diagonal of M is `diagonal`, whose last entry, one more, stands for the number 1.
    """
    n = M.shape[0]
    total, low = k * below * diagonal[n], below
    if i >= 0:
        total += k * (above - below) * diagonal[i]
        low = min(above, below)
    for position in range(order.shape[0]):
        value = values[position]
        if value <= low:
            break
        d = min(order[position], n)
        gain = max(value - below, 0.0)
        total += gain * diagonal[d]
        if i >= 0:
            together = diagonal[i] if d >= n or d == i else M[i, d]
            total += (max(value - above, 0.0) - gain) * together
    return total


@compiled()
def _add(order, values, i, above, below, k, weight, M, diagonal):
    """Add weight · (the matrix of a cut) to M, whose diagonal is as for `_value`."""
    n = M.shape[0]
    diagonal[n] += weight * k * below
    low = below
    if i >= 0:
        diagonal[i] += weight * k * (above - below)
        low = min(above, below)
    for position in range(order.shape[0]):
        value = values[position]
        if value <= low:
            break
        d = min(order[position], n)
        gain = max(value - below, 0.0)
        diagonal[d] += weight * gain
        if i < 0:
            continue
        change = weight * (max(value - above, 0.0) - gain)
        if d >= n or d == i:
            diagonal[i] += change
        else:
            M[i, d] += 0.5 * change
            M[d, i] += 0.5 * change


@compiled()
def _diagonal(M, n_select):
    """Return the diagonal of M, and tr M / n_select, which stands for 1."""
    result = np.empty(M.shape[0] + 1)
    for d in range(M.shape[0]):
        result[d] = M[d, d]
    result[-1] = result[:-1].sum() / n_select
    return result


@compiled()
def _spread(diagonal, n_select):
    """Share what stands for 1 out over the diagonal."""
    diagonal[:-1] += diagonal[-1] / n_select
    diagonal[-1] = diagonal[:-1].sum() / n_select


@compiled()
def split_values(columns, cuts, M):
    """Return what every cut gives at M; a constant counts as itself times tr M / n_select."""
    diagonal = _diagonal(M, columns.n_select)
    result = np.empty(len(cuts.classes))
    for r in range(len(result)):
        order, values = columns.order[cuts.classes[r]], columns.values[cuts.classes[r]]
        result[r] = _value(
            order, values, cuts.feature[r], cuts.given[r], cuts.otherwise[r],
            columns.n_per_class, M, diagonal,
        )  # fmt: skip
    return result


@compiled()
def add_splits(columns, cuts, factor, M):
    """Add Σ_r factor_r · (the symmetric matrix of cut r) to M."""
    diagonal = np.zeros(M.shape[0] + 1)
    for r in range(len(factor)):
        if factor[r] != 0.0:
            order, values = columns.order[cuts.classes[r]], columns.values[cuts.classes[r]]
            _add(
                order, values, cuts.feature[r], cuts.given[r], cuts.otherwise[r],
                columns.n_per_class, factor[r], M, diagonal,
            )  # fmt: skip
    _spread(diagonal, columns.n_select)
    for d in range(M.shape[0]):
        M[d, d] += diagonal[d]


@compiled()
def share_curvatures(columns, cuts, start, power_steps):
    """Estimate how strongly the shares of every class act: ‖T Tᵀ‖, by a power iteration.

    T takes a matrix to the cuts of the class less their average.
    """
    n, k = columns.n_free, columns.n_per_class
    feature, given, otherwise = cuts.feature, cuts.given, cuts.otherwise
    M, diagonal = np.zeros((n, n), np.float32), np.zeros(n + 1)
    result = np.zeros(len(start) - 1)
    for c in range(len(result)):
        first, last = start[c], start[c + 1]
        order, values = columns.order[c], columns.values[c]
        v = np.cos(np.arange(last - first) * 2.4)
        for _ in range(power_steps):
            v -= v.mean()
            result[c] = np.sqrt((v * v).sum())
            if result[c] == 0.0:
                break
            v /= result[c]
            diagonal[:] = 0.0
            for r in range(first, last):
                if v[r - first] != 0.0:
                    _add(
                        order,
                        values,
                        feature[r],
                        given[r],
                        otherwise[r],
                        k,
                        v[r - first],
                        M,
                        diagonal,
                    )
            _spread(diagonal, columns.n_select)
            for r in range(first, last):
                v[r - first] = _value(
                    order, values, feature[r], given[r], otherwise[r], k, M, diagonal
                )
            for i in feature[first:last]:
                if i >= 0:
                    M[i, :] = 0.0
                    M[:, i] = 0.0
    return result


@compiled()
def sweep_shares(columns, cuts, start, left, lengths, shares, residual):
    """Move the shares of one class after the other so that the residual becomes smaller.

    Parameters
    ----------
    left : how much of every class its cuts stand for
    lengths : the step length of every class
    shares : one for every cut; changed
    residual : free × free; changed: it loses what the cuts gain
    """
    m, k = columns.n_select, columns.n_per_class
    feature, given, otherwise = cuts.feature, cuts.given, cuts.otherwise
    diagonal = _diagonal(residual, m)
    for c in range(len(start) - 1):
        first, last = start[c], start[c + 1]
        order, values = columns.order[c], columns.values[c]
        if left[c] <= 0.0 or last - first < 2:
            continue
        moved = shares[first:last].copy()
        for r in range(first, last):
            value = _value(order, values, feature[r], given[r], otherwise[r], k, residual, diagonal)
            moved[r - first] += lengths[c] * left[c] * value
        project_shares(moved)
        diagonal[-1] = 0.0
        for r in range(first, last):
            change = moved[r - first] - shares[r]
            if change != 0.0:
                _add(
                    order,
                    values,
                    feature[r],
                    given[r],
                    otherwise[r],
                    k,
                    -left[c] * change,
                    residual,
                    diagonal,
                )
        shares[first:last] = moved
        _spread(diagonal, m)
    for d in range(residual.shape[0]):
        residual[d, d] = diagonal[d]


@compiled()
def project_shares(shares):
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
