"""FeatureBounds: a bound, and the same with any one feature decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
    with_feature: NDArray[np.float64]
    without_feature: NDArray[np.float64]
