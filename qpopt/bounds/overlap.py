"""Overlap cuts: what two classes can gain together when their sets must differ.

For sets T ≠ T' of k selected features, |T ∩ T'| ≤ k − 1, so for any τ, τ' and σ ≥ 0

    Σ_T a + Σ_T' a' ≤ kτ + kτ' + (k − 1)σ + Σ_d s_d max(0, a_d − τ, a'_d − τ', a_d + a'_d − τ − τ' − σ).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

SECTIONS = 12
"""Steps of each golden section search; any thresholds are valid, so it need not be exact."""


class OverlapCut(NamedTuple):
    """One cut: what the two classes gain is at most constant + gains · s."""

    constant: float
    gains: Vector
    thresholds: tuple[float, float, float]


def overlap_cut(
    a: Vector, other: Vector, thresholds: tuple[float, float, float], k: int
) -> OverlapCut:
    """Return the cut of given τ, τ' and σ ≥ 0."""
    tau, tau_other, sigma = thresholds
    u, v = a - tau, other - tau_other
    gains = np.maximum(np.maximum(u, v), np.maximum(u + v - sigma, 0.0))
    return OverlapCut(k * tau + k * tau_other + (k - 1) * sigma, gains, thresholds)


def best_overlap(a: Vector, other: Vector, weight: Vector, k: int) -> OverlapCut:
    """Return a cut that is nearly the strongest one at a fractional selection.

    Parameters
    ----------
    a, other
        Similarity of the two classes.
    weight
        How much every feature is selected.
    k
        The number of features of a class.
    """
    used = weight > 1e-9
    p, q, w = a[used], other[used], weight[used]
    start = (_threshold(p, w, k), _threshold(q, w, k), 0.0)
    best = start
    best_value = _value(p, q, w, start, k)

    def at(sigma: float) -> float:
        """Return the value of the best thresholds for σ, and keep them if they are the best yet."""
        nonlocal best, best_value

        def given(tau_other: float) -> float:
            nonlocal best, best_value
            # With the other class settled, σ is a discount on the features that it takes.
            tau = _threshold(p - np.clip(q - tau_other, 0.0, sigma), w, k)
            value = _value(p, q, w, (tau, tau_other, sigma), k)
            if value < best_value:
                best, best_value = (tau, tau_other, sigma), value
            return value

        return _minimum(given, float(q.min()), start[1])

    # A larger σ than what one class loses by giving up a feature is of no use.
    _minimum(at, 0.0, float(max(np.ptp(p), np.ptp(q))))
    return overlap_cut(a, other, best, k)


def _value(
    a: Vector, other: Vector, weight: Vector, thresholds: tuple[float, float, float], k: int
) -> float:
    cut = overlap_cut(a, other, thresholds, k)
    return cut.constant + float(cut.gains @ weight)


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return nearly the smallest value of a convex function, by golden section."""
    ratio = 0.5 * (5**0.5 - 1)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    smallest = min(function(low), function(high), at_left, at_right)
    for _ in range(SECTIONS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
        smallest = min(smallest, at_left, at_right)
    return smallest


def _threshold(values: Vector, weight: Vector, k: int) -> float:
    order = np.argsort(-values, kind="stable")
    total = np.cumsum(weight[order])
    position = min(int(np.searchsorted(total, k - 1e-12)), len(values) - 1)
    return float(values[order[position]])
