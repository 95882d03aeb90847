"""How much a feature is wanted for its own sake, brought to a common scale."""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FLAT = 1e-12
"""Relative spread below which a bias counts as constant: what is left is rounding."""


class ScaledBias(NamedTuple):
    """A bias as it enters Z, the features whose raw values were clipped, and the scale factor."""

    values: NDArray[np.float64]
    outliers: NDArray[np.int64]
    factor: float


def scale_bias(raw: NDArray[np.float64], bias_scale: float) -> ScaledBias:
    """Clip outliers to Tukey's fences, centre, and scale to max |b| = `bias_scale`.

    Parameters
    ----------
    raw
        One value per feature.
    bias_scale
        λ, the largest absolute value of the result.

    Returns
    -------
    ScaledBias
        All zeros, with the factor 0, where clipping leaves nothing that varies.
    """
    lower, upper = np.percentile(raw, [25, 75])
    reach = 1.5 * (upper - lower)
    clipped = np.clip(raw, lower - reach, upper + reach)
    outliers = np.flatnonzero(clipped != raw)
    centred = clipped - fsum(clipped.tolist()) / len(clipped)
    largest = float(np.abs(centred).max())
    if largest <= max(FLAT * float(np.abs(clipped).max()), np.finfo(float).tiny):
        return ScaledBias(np.zeros_like(raw), outliers, 0.0)
    return ScaledBias(centred / largest * bias_scale, outliers, bias_scale / largest)
