"""The bias as the released code of the published method computes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.preprocessing.bias import ScaledBias, centred_bias
from qpopt.problem import validation

Floats = NDArray[np.float64]

NEIGHBOURS = 0.3
"""Share of all values whose reach, in the mean over all values, is the bandwidth."""
SETTLED, MOST_MOVES = 1e-3, 300
"""Move of a mean, in bandwidths, below which it stays; moves after which it stays anyway."""


@dataclass(frozen=True, eq=False)
class PublishedBias:
    """A bias of two parts that knows how it is scaled; `prepare` takes it in place of an array.

    It differs from `locality` in three ways. Features of one sample share a weight of 1; features
    with their maximum often on the border of the map get the smallest value; and outliers are what
    lies beyond the largest cluster that mean shift finds.

    Parameters
    ----------
    locality
        For every feature the mean over samples of the largest value of the softmax over positions,
        weighted by the share that the feature has in the sample.
    edge
        Minus the sum of these shares over the samples in which the map is largest on its border.
    """

    locality: ArrayLike
    edge: ArrayLike

    def scaled(self, n_features: int, bias_scale: float) -> ScaledBias:
        """Return the bias as it enters Z; arguments and result as of `scale_bias`."""
        raw = [
            validation.vector(label, getattr(self, label), n_features)
            for label in ("locality", "edge")
        ]
        locality, edge = (clustered_bias(values, bias_scale) for values in raw)
        combined = np.where(edge.values < 0, locality.values.min(), locality.values)
        return clustered_bias(combined, bias_scale)


def clustered_bias(raw: Floats, bias_scale: float) -> ScaledBias:
    """Clip to the range of the largest cluster, centre and scale; see `scale_bias`."""
    labels = mean_shift(raw)
    members = raw[labels == np.bincount(labels).argmax()]
    return centred_bias(raw, np.clip(raw, members.min(), members.max()), bias_scale)


def mean_shift(values: Floats) -> NDArray[np.int64]:
    """Return the cluster of every value: one-dimensional mean shift with a flat kernel.

    Every value moves to the mean of all values within the bandwidth until it stays. Where several
    end within a bandwidth of each other, the one with the most values around it, of these the
    largest, is the centre of a cluster; every value belongs to the nearest centre. The clusters
    are numbered by falling numbers of values around their centres.
    """
    x = np.sort(values)
    width = _bandwidth(x)
    total = np.concatenate([[0.0], np.cumsum(x)])
    means, around = x.copy(), np.zeros(len(x), dtype=np.int64)
    moving = np.ones(len(x), dtype=bool)
    for _ in range(MOST_MOVES + 1):
        first = np.searchsorted(x, means[moving] - width, "left")
        last = np.searchsorted(x, means[moving] + width, "right")
        # Rounding must not carry the mean of equal values away from them.
        moved = np.clip((total[last] - total[first]) / (last - first), x[first], x[last - 1])
        far = np.abs(moved - means[moving]) > SETTLED * width
        means[moving], around[moving] = moved, last - first
        moving[moving] = far
        if not moving.any():
            break
    centres: list[float] = []
    for i in np.lexsort((means, around))[::-1]:
        if all(abs(means[i] - centre) > width for centre in centres):
            centres.append(float(means[i]))
    nearest: NDArray[np.int64] = np.abs(values[:, None] - np.array(centres)).argmin(axis=1)
    return nearest


def _bandwidth(x: Floats) -> float:
    """Return the mean distance of sorted values to the last of their nearest neighbours."""
    count = max(1, int(len(x) * NEIGHBOURS))
    reach = np.full(len(x), np.inf)
    at = np.arange(len(x))
    # The nearest ones of a sorted value, itself among them, are a window around it.
    for left in range(count):
        fits = (at >= left) & (at - left + count <= len(x))
        lowest, highest = at[fits] - left, at[fits] - left + count - 1
        window = np.maximum(x[fits] - x[lowest], x[highest] - x[fits])
        reach[fits] = np.minimum(reach[fits], window)
    return float(np.cumsum(reach)[-1] / len(x))
