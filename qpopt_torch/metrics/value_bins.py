"""ValueBins: how the values of features are distributed, in a size that does not grow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BINS = 4096
"""Bins of each feature between its extreme quantiles; two more take what lies outside."""
EXTREME = 5e-4


class Binned(NamedTuple):
    """The values of one feature, in rising order, as bins that are not empty."""

    counts: Floats
    means: Floats
    squares: Floats


class ValueBins:
    """Counts, sums and sums of squares of the values of features, by bins of equal width.

    Parameters
    ----------
    first
        Samples × features, from which the bins are laid out; they are added as well.
    """

    def __init__(self, first: Floats) -> None:
        low, high = np.quantile(first, [EXTREME, 1 - EXTREME], axis=0)
        flat = high <= low
        low = np.where(flat, first.min(axis=0), low)
        high = np.where(flat, first.max(axis=0), high)
        self.low, self.width = low, np.maximum((high - low) / BINS, np.finfo(float).tiny)
        self.sums = np.zeros((3, first.shape[1], BINS + 2))
        self.add(first)

    def add(self, values: Floats) -> None:
        """Add samples × features."""
        self._add(np.ones_like(values), values, values**2)

    def merge(self, other: ValueBins) -> None:
        """Add what another object saw; its bins are taken as so many values at their mean."""
        counts, sums, squares = other.sums.transpose(0, 2, 1)
        known = np.maximum(counts, 1)
        self._add(counts, sums / known, squares / known)

    def of(self, column: int) -> Binned:
        """Return the distribution of one feature."""
        counts, sums, squares = self.sums[:, column, self.sums[0, column] > 0]
        return Binned(counts, sums / counts, squares / counts)

    def _add(self, counts: Floats, means: Floats, squares: Floats) -> None:
        places = np.clip((means - self.low) / self.width + 1, 0, BINS + 1).astype(np.int64)
        flat = (places + np.arange(places.shape[1]) * (BINS + 2)).ravel()
        for total, weighed in zip(
            self.sums, (counts, counts * means, counts * squares), strict=True
        ):
            added = np.bincount(flat, weighed.ravel(), minlength=total.size)
            total += added.reshape(total.shape)
