"""Rounding outward: what floating-point arithmetic can have lost, and sums that make up for it.

One operation on numbers that do not underflow changes its result by at most half of `EPS`, relative
to it. A sum of products that takes K operations is therefore off by at most `lost(K)` times the sum
of the absolute values of its terms (Higham, Accuracy and Stability, Lemma 3.1). `EPS` is twice the
unit roundoff, which pays for the rounding of that sum and of the margin itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, inf, isfinite, nextafter

EPS = 2.0**-52

TINY = 2.0**-1021
"""More than one operation can lose by underflow."""


def lost(operations: int) -> float:
    """Return by how much so many operations may change a sum, relative to its absolute terms."""
    return operations * EPS / (1.0 - operations * EPS)


def upper_sum(terms: Iterable[float]) -> float:
    """Return a number that no exact sum of the terms exceeds; infinity where that is no number."""
    try:
        total = fsum(terms)
    except (OverflowError, ValueError):
        # Sums beyond all numbers, or infinities of both signs.
        return inf
    return nextafter(total, inf) if isfinite(total) else inf
