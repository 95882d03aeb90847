"""FeatureBounds: a bound, and the same with any one feature decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureBounds:
    """What a relaxation proves of a subproblem.

    Parameters
    ----------
    value
        No selection has more.
    with_feature
        For every free feature, the same over the selections that contain it.
    without_feature
        The same over the selections that do not contain it; −inf where there are none.
    """

    value: float
    with_feature: Floats
    without_feature: Floats


def linear_bounds(gains: Floats, constant: float, m: int) -> FeatureBounds:
    """Return the most of constant + gains · s over selections of m features."""
    n = len(gains)
    order = np.argsort(-gains, kind="stable")
    chosen = np.zeros(n, dtype=bool)
    chosen[order[:m]] = True
    value = constant + float(gains[order[:m]].sum())
    with_feature = np.full(n, value)
    without_feature = np.full(n, value)
    with_feature[~chosen] += gains[~chosen] - gains[order[m - 1]]
    if n > m:
        without_feature[chosen] += gains[order[m]] - gains[chosen]
    else:
        without_feature[chosen] = -np.inf
    return FeatureBounds(value, with_feature, without_feature)
