"""What one step of a certificate proves, recomputed with dense arithmetic.

Nothing here is shared with the code that finds bounds.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance

if TYPE_CHECKING:
    from qpopt.cuts.thresholds import Group
    from qpopt.proofs.certificate import Step

Matrix = NDArray[np.float64]

ACCURACY = 1e-10
"""How closely the smallest δ is found: what it costs, relative to the size of the bound."""


def step_bounds(instance: Instance, step: Step) -> tuple[float, dict[int, float], dict[int, float]]:
    """Return the bound of one step, and the bound with and without each free feature."""
    m = instance.n_select - len(step.included)
    chosen = step.included
    constant = float(instance.b[chosen].sum())
    constant -= float(np.triu(instance.R[np.ix_(chosen, chosen)], 1).sum())
    if m == 0:
        given = np.sort(instance.A[:, chosen], axis=1)[:, -instance.n_per_class :]
        value = constant + float(given.sum())
        return value + 1e-11 * max(1.0, abs(value)), {}, {}
    M = _objective_matrix(instance, step, m)
    M -= _multiplier_matrix(step, m)
    B = np.asarray(step.B, dtype=np.float64)
    B = np.tril(B) + np.tril(B, -1).T
    limits = _limits(step)
    deficit = _deficit(B, ACCURACY * max(1.0, abs(constant + m * step.t)) / m)
    shift = constant + m * step.t + limits
    shift += 1e-12 * (abs(constant) + limits + m * m * float(np.abs(M).max()))
    shift += 1e-13 * m**3 * float(np.abs(M + B).max())
    value, plus, minus = _pattern_bounds(M + B, m)
    value, plus, minus = value + m * deficit, plus + m * deficit, minus + m * deficit
    names = step.free.tolist()
    by_points = _point_bounds(M + B, B, m, deficit, step)
    return (
        value + shift,
        {d: min(plus[p], by_points.get(d, inf)) + shift for p, d in enumerate(names)},
        {d: minus[p] + shift for p, d in enumerate(names)},
    )


def _objective_matrix(instance: Instance, step: Step, m: int) -> Matrix:
    """Z − constant ≤ sᵀ(this)s, by the thresholds of the step."""
    free, chosen = step.free, step.included
    n = len(free)
    M = -instance.R[np.ix_(free, free)] / 2
    left = np.ones(instance.n_classes)
    for group in step.groups:
        left[list(group.classes)] -= group.share
        gains, constant = _group_gains(instance, step, group)
        M[np.arange(n), np.arange(n)] += gains + constant / m
    if left.min() < -1e-12:
        raise InvalidCertificate("The groups of a class stand for more than all of it.")
    for c in np.flatnonzero(left > 0):
        own = step.splits.classes == c
        shares = np.asarray(step.splits.shares, dtype=np.float64)[own]
        total = float(shares.sum())
        if not len(shares) or shares.min() < 0 or abs(total - 1) > 1e-9:
            raise InvalidCertificate(f"The shares of class {c} do not add up to 1.")
        cuts = zip(
            step.splits.feature[own], step.splits.given[own], step.splits.otherwise[own],
            shares, strict=True,
        )  # fmt: skip
        for feature, given, otherwise, share in cuts:
            weight = left[c] * share / total
            M += weight * _split_matrix(instance, step, m, c, feature, given, otherwise)
    loss = instance.R[np.ix_(free, chosen)].sum(axis=1)
    M[np.arange(n), np.arange(n)] += instance.b[free] - loss
    return M


def _split_matrix(
    instance: Instance, step: Step, m: int, c: int, feature: int, given: float, otherwise: float
) -> Matrix:
    """Return the matrix that class c gains at most, with two thresholds for one feature.

    If the feature is not selected, class c gains at most k·otherwise and what its features are
    above that; if it is, the same with `given`.
    """
    without, without_constant = _threshold_gains(instance, step, c, otherwise)
    result = np.diag(without + without_constant / m)
    if feature >= 0:
        within, within_constant = _threshold_gains(instance, step, c, given)
        row = within - without
        row[feature] += within_constant - without_constant
        # s_i · (row · s): half of it on either side of the diagonal, all of it for i itself.
        result[feature, :] += row / 2
        result[:, feature] += row / 2
    return result


def _threshold_gains(
    instance: Instance, step: Step, c: int, threshold: float
) -> tuple[Matrix, float]:
    """Return what class c gains by every free feature above a threshold, and at least."""
    gains = np.maximum(instance.A[c] - threshold, 0.0)
    constant = instance.n_per_class * threshold + float(gains[step.included].sum())
    return gains[step.free], constant


def _group_gains(instance: Instance, step: Step, group: Group) -> tuple[Matrix, float]:
    """Return what the distinct sets of some classes gain by every free feature, and at least.

    Of q classes, j may use a feature; every two of their sets have a feature in which they differ,
    so the number of shared features, counted once for every pair, is at most (k − 1)q(q − 1)/2.
    """
    k, q = instance.n_per_class, len(group.classes)
    if len(set(group.classes)) != q or q < 2 or group.sigma < 0 or group.share < 0:
        raise InvalidCertificate("A group of classes is not one, or has a negative multiplier.")
    excess = instance.A[list(group.classes)] - np.asarray(group.thresholds)[:, None]
    falling = -np.sort(-excess, axis=0)
    best = np.zeros(instance.n_features)
    sums = np.zeros(instance.n_features)
    for j in range(1, q + 1):
        sums = sums + falling[j - 1]
        best = np.maximum(best, sums - group.sigma * j * (j - 1) / 2)
    constant = k * float(np.sum(group.thresholds)) + group.sigma * (k - 1) * q * (q - 1) / 2
    constant += float(best[step.included].sum())
    return group.share * best[step.free], group.share * constant


def _point_bounds(Q: Matrix, B: Matrix, m: int, deficit: float, step: Step) -> dict[int, float]:
    """Bound sᵀQs − sᵀBs over selections s that contain a feature, by a tangent of −sᵀBs at a point.

    B + deficit · I is positive semidefinite, so −sᵀBs ≤ pᵀBp − 2pᵀBs + deficit · ‖s − p‖², and
    p ≥ 0 makes that norm at most m + ‖p‖². Of Q, every selected row counts with its diagonal, its
    entry at the feature twice, and its m − 2 largest others.
    """
    position = {d: p for p, d in enumerate(step.free.tolist())}
    n = len(Q)
    off = Q.copy()
    np.fill_diagonal(off, -inf)
    rows = np.diagonal(Q) + np.sort(off, axis=1)[:, n - max(m - 2, 0) :].sum(axis=1)
    result = {}
    for feature, point in zip(step.removed.tolist(), step.points, strict=True):
        if feature not in position or m < 2:
            continue
        d, p = position[feature], np.asarray(point, dtype=np.float64)
        if p.min() < 0:
            raise InvalidCertificate("A point has a negative coordinate.")
        tangent = 2 * (B @ p)
        others = np.delete(2 * Q[d] + rows - tangent, d)
        value = Q[d, d] - tangent[d] + float(p @ B @ p) + deficit * (m + float(p @ p))
        value += float(np.sort(others)[n - m :].sum())
        size = (float(p.sum()) + m) ** 2 * float(np.abs(B).max()) + m**2 * float(np.abs(Q).max())
        result[feature] = value + 1e-13 * n * size
    return result


def _multiplier_matrix(step: Step, m: int) -> Matrix:
    """Return D with sᵀDs ≤ m·t + Σ (the limits of the cuts) for every s that selects m features.

    For such s the y-part vanishes and the t-part is m·t. Every cut is half of
    u² − (2q + 1)u ≥ −q(q + 1) for a whole number u = σ · s, negated.
    """
    n = len(step.free)
    D: Any = (step.y[:, None] + step.y[None, :]) / 2
    D[np.arange(n), np.arange(n)] = (1 - m) * step.y + step.t
    if len(step.multipliers) != len(step.cuts) or not (np.asarray(step.multipliers) >= 0).all():
        raise InvalidCertificate("The multipliers of the cuts must be non-negative, one for each.")
    for (level, plus, minus), nu in zip(step.cuts, step.multipliers, strict=True):
        members = [*plus, *minus]
        if len(set(members)) != len(members) or not all(0 <= d < n for d in members):
            raise InvalidCertificate("A cut names a feature twice or one that does not exist.")
        if level != int(level):
            raise InvalidCertificate("The level of a cut is no whole number.")
        sigma = np.array([1.0] * len(plus) + [-1.0] * len(minus))
        negated = np.diag((2 * level + 1) * sigma) - np.outer(sigma, sigma)
        D[np.ix_(members, members)] += nu / 2 * negated
    return D  # type: ignore[no-any-return]


def _limits(step: Step) -> float:
    """Return the sum of the limits q(q + 1)/2 of the cuts, each times its multiplier."""
    levels = np.array([float(level) for level, _, _ in step.cuts])
    return float(np.sum(step.multipliers * levels * (levels + 1) / 2))


def _deficit(B: Matrix, accuracy: float) -> float:
    """Return δ ≥ 0 such that B + δI is positive semidefinite, by trying Cholesky factorisations."""
    n = len(B)
    # A factorisation that succeeds proves the matrix definite up to this (Higham, Theorem 10.3).
    size = float(np.abs(np.diagonal(B)).max())
    rounding = 4.0 * n * (n + 1) * float(np.finfo(np.float64).eps) * max(size, 1e-300)
    if _definite(B, 0.0):
        return rounding
    high = 1e-14 * max(size, 1.0)
    while not _definite(B, high):
        high *= 8.0
        if high > 1e6 * max(size, 1.0):
            raise InvalidCertificate("The matrix of a step is far from positive semidefinite.")
    low = 0.125 * high
    while high - low > accuracy and low < (middle := 0.5 * (low + high)) < high:
        if _definite(B, middle):
            high = middle
        else:
            low = middle
    return high + rounding * (1.0 + high / max(size, 1e-300))


def _definite(B: Matrix, delta: float) -> bool:
    """Tell whether B + δI has a Cholesky factorisation."""
    try:
        np.linalg.cholesky(B + delta * np.eye(len(B)))
    except np.linalg.LinAlgError:
        return False
    return True


def _pattern_bounds(Q: Matrix, m: int) -> tuple[float, Matrix, Matrix]:
    """Bound sᵀQs by m rows of m entries; also with and without every single feature."""
    n = len(Q)
    diagonal = np.diagonal(Q).copy()
    off = Q.copy()
    np.fill_diagonal(off, -inf)
    falling = -np.sort(-off, axis=1)
    total = diagonal + falling[:, : m - 1].sum(axis=1)
    value = float(np.sort(total)[n - m :].sum())
    plus, minus = np.empty(n), np.full(n, -inf)
    for d in range(n):
        if m > 1:
            smallest = falling[:, m - 2]
            rows = total + np.minimum(off[:, d] - smallest, 0.0)
            rows[d] = -inf
            plus[d] = total[d] + np.sort(rows)[n - m + 1 :].sum()
        else:
            plus[d] = total[d]
        if n > m:
            rows = total.copy()
            if m > 1:
                inside = off[:, d] >= falling[:, m - 2]
                rows[inside] -= off[inside, d] - falling[inside, m - 1]
            rows[d] = -inf
            minus[d] = np.sort(rows)[n - m :].sum()
    return value, plus, minus
