"""How much a feature is wanted for its own sake, brought to a common scale."""

from __future__ import annotations

from math import fsum

import numpy as np
from numpy.typing import NDArray

FLAT = 1e-12
"""Relative spread below which a bias counts as constant: what is left is rounding."""


def scale_bias(
    raw: NDArray[np.float64], bias_scale: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Clip outliers to Tukey's fences, centre, and scale to max |b| = `bias_scale`.

    Parameters
    ----------
    raw
        One value per feature.
    bias_scale
        λ, the largest absolute value of the result.

    Returns
    -------
    tuple
        The scaled bias (all zeros if `raw` is constant), and the features that were clipped.
    """
    lower, upper = np.percentile(raw, [25, 75])
    reach = 1.5 * (upper - lower)
    clipped = np.clip(raw, lower - reach, upper + reach)
    outliers = np.flatnonzero(clipped != raw)
    centred = clipped - fsum(clipped.tolist()) / len(clipped)
    largest = float(np.abs(centred).max())
    if largest <= FLAT * float(np.abs(clipped).max()):
        return np.zeros_like(raw), outliers
    return centred * (bias_scale / largest), outliers
