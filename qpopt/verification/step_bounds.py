"""What one step of a certificate proves, recomputed with dense arithmetic that rounds outward.

Nothing here is shared with the code that finds bounds.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance
from qpopt.verification.outward import EPS, TINY, lost, upper_sum
from qpopt.verification.step_matrix import step_matrix

if TYPE_CHECKING:
    from qpopt.relaxations.step import Step

Matrix = NDArray[np.float64]

ACCURACY = 1e-10
"""How closely the smallest δ is found: what it costs, relative to the size of the bound."""


LARGEST = 1e200
"""Sums of anything smaller, however many, are finite."""


class StepBounds(NamedTuple):
    """Bounds of all selections of a part, and of those with and without a feature."""

    value: float
    with_feature: dict[int, float]
    without_feature: dict[int, float]


def step_bounds(instance: Instance, step: Step) -> StepBounds:
    """Return the bound of one step, and the bound with and without each free feature.

    The step has passed the schema, and its part holds at least one selection of free features.
    """
    m = instance.n_select - len(step.included)
    with np.errstate(over="ignore", invalid="ignore"):
        M, shift = step_matrix(instance, step, m)
        B = np.asarray(step.B, dtype=np.float64)
        B = np.tril(B) + np.tril(B, -1).T
        # One addition an entry, rounded up like M.
        Q = M + B
        Q += EPS * np.abs(Q)
        largest = np.max([np.abs(Q).max(), np.abs(B).max(), abs(shift)])
    if not largest < LARGEST:
        raise InvalidCertificate("The numbers of a step are too large to add them up.")
    deficit = _deficit(B, ACCURACY * max(abs(shift), float(np.abs(Q).max())) / m)
    # No sum over a pattern has more than m² entries, nor takes more operations one after another.
    rounding = lost(4 * m + 8) * m * m * float(np.abs(Q).max()) + m * TINY
    value, plus, minus = _pattern_bounds(Q, m)
    loss = [shift, (1.0 + EPS) * m * deficit, rounding]
    by_points = _point_bounds(Q, B, m, deficit, step)
    with_feature, without_feature = {}, {}
    for p, d in enumerate(step.free.tolist()):
        by_rows = upper_sum([float(plus[p]), *loss])
        with_feature[d] = min(by_rows, upper_sum([by_points.get(d, inf), shift]))
        # No selection leaves a feature out where all are selected.
        without_feature[d] = upper_sum([float(minus[p]), *loss]) if len(Q) > m else -inf
    return StepBounds(upper_sum([value, *loss]), with_feature, without_feature)


def _deficit(B: Matrix, accuracy: float) -> float:
    """Return δ ≥ 0 such that B + δI is positive semidefinite, by trying Cholesky factorisations.

    At the worst δ is what makes every diagonal entry as large as the others of its row together.
    """
    size = float(np.abs(B).max())
    rows = np.abs(B).sum(axis=1) - np.abs(np.diagonal(B)) - np.diagonal(B)
    dominant = max(0.0, float(rows.max())) + lost(2 * len(B) + 4) * 2 * len(B) * size
    if size < 1e-250:
        # Products would underflow; so small a matrix costs next to nothing.
        return dominant
    if (rounding := _definite(B, 0.0)) is not None:
        return rounding
    high = EPS * size
    while (rounding := _definite(B, high)) is None:
        high *= 8.0
        if high >= dominant:
            return dominant
    low, best = 0.125 * high, high + rounding
    while high - low > accuracy and low < (middle := 0.5 * (low + high)) < high:
        if (rounding := _definite(B, middle)) is None:
            low = middle
        else:
            high = middle
            best = min(best, middle + rounding)
    return (1.0 + EPS) * min(best, dominant)


def _definite(B: Matrix, delta: float) -> float | None:
    """Return what must be added to δ to make B + δI surely semidefinite, or None where it fails.

    A Cholesky factorisation that ends is the exact one of a matrix that differs by no more than
    γ/(1 − γ) times the trace, γ = (n + 1) · the unit roundoff, in whatever order it is computed
    (Higham, Accuracy and Stability, Theorem 10.3). Adding δ to the diagonal rounds as well.
    """
    moved = B.copy()
    moved[np.diag_indices(len(B))] += delta
    try:
        np.linalg.cholesky(moved)
    except np.linalg.LinAlgError:
        return None
    trace = float(np.diagonal(moved).sum())
    return lost(len(B) + 8) * trace if isfinite(trace) else None


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
    largest_Q, largest_B = float(np.abs(Q).max()), float(np.abs(B).max())
    result: dict[int, float] = {}
    pointed = [*step.removed.tolist(), *step.watched.tolist()]
    for feature, point in zip(pointed, step.points, strict=True):
        if feature not in position or m < 2 or not point.any():
            continue
        d, p = position[feature], np.asarray(point, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            tangent = 2 * (B @ p)
            others = np.delete(2 * Q[d] + rows - tangent, d)
            away = deficit * (m + float(p @ p))
            value = Q[d, d] - tangent[d] + float(p @ B @ p) + away
            value += np.sort(others)[n - m :].sum()
            # The absolute values of everything added up: B at p and at s, and Q at s.
            mass = float(p.sum()) + 2 * m
            size = mass * mass * largest_B + 4 * m * m * largest_Q + away
        bound = upper_sum([float(value), lost(2 * n + 4 * m + 16) * size, n * TINY])
        # An infinite number on the way can hide in a sum: then the point proves nothing.
        if isfinite(size) and np.isfinite(others).all() and isfinite(bound):
            result[feature] = min(bound, result.get(feature, inf))
    return result
