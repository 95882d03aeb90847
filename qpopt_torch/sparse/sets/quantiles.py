"""Quantiles with a guarantee: ranks among exchangeable samples."""

from __future__ import annotations

from math import ceil, floor

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

ROUNDING = 1e-9
"""What undoes that 1 − α is not exact."""


def rank(n: int, alpha: float) -> int:
    """Return the rank among n values that a further one exceeds with probability α at most."""
    return ceil((n + 1) * (1 - alpha) - ROUNDING)


def fewest(alpha: float) -> int:
    """Return the smallest number of samples for which there is such a value: ⌈1/α⌉ − 1."""
    return ceil(1 / alpha - ROUNDING) - 1


def quantile(values: ArrayLike, alpha: float) -> float:
    """Return the value at that rank; infinity where there are too few."""
    known = np.sort(np.asarray(values, dtype=np.float64))
    place = rank(len(known), alpha)
    return float(known[place - 1]) if 1 <= place <= len(known) else np.inf


def class_quantiles(
    values: ArrayLike, labels: ArrayLike, n_classes: int, alpha: float
) -> NDArray[np.float64]:
    """Return the quantile among the samples of every class."""
    known, classes = np.asarray(values, dtype=np.float64), np.asarray(labels)
    return np.array([quantile(known[classes == c], alpha) for c in range(n_classes)])


def least_evidence(
    evidence: ArrayLike, labels: ArrayLike, n_classes: int, alpha: float
) -> NDArray[np.float64]:
    """Return for every class what one of its samples falls below with probability α at most.

    That is the ⌊α (n + 1)⌋-th smallest value among its n samples; −∞ where there are too few.
    """
    known, classes = np.asarray(evidence, dtype=np.float64), np.asarray(labels)
    least = np.full(n_classes, -np.inf)
    for c in range(n_classes):
        own = np.sort(known[classes == c])
        if place := floor(alpha * (len(own) + 1) + ROUNDING):
            least[c] = own[place - 1]
    return least


def coverage_range(n: int, alpha: float, share: float = 0.9) -> tuple[float, float]:
    """Return between what the coverage lies for this share of all calibration sets.

    Without ties it is distributed as Beta(r, n + 1 − r), r the rank.
    """
    place = rank(n, alpha)
    if place > n:
        return 1.0, 1.0
    low, high = beta.ppf([(1 - share) / 2, (1 + share) / 2], place, n + 1 - place)
    return float(low), float(high)
