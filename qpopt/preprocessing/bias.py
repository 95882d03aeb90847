"""How much a feature is wanted for its own sake, brought to a common scale."""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.problem import validation

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
    return centred_bias(raw, np.clip(raw, lower - reach, upper + reach), bias_scale)


def centred_bias(
    raw: NDArray[np.float64], clipped: NDArray[np.float64], bias_scale: float
) -> ScaledBias:
    """Centre and scale what clipping left of a raw bias; see `scale_bias`."""
    outliers = np.flatnonzero(clipped != raw)
    centred = clipped - fsum(clipped.tolist()) / len(clipped)
    largest = float(np.abs(centred).max())
    if largest <= max(FLAT * float(np.abs(clipped).max()), np.finfo(float).tiny):
        return ScaledBias(np.zeros_like(raw), outliers, 0.0)
    return ScaledBias(centred / largest * bias_scale, outliers, bias_scale / largest)


def locality_from_sums(
    weighted: ArrayLike, feature_sums: ArrayLike, n_samples: int
) -> NDArray[np.float64]:
    """Compute the raw locality b_d = Σ_j max(S_j^d) f_jd / (n Σ_j f_jd).

    S_j^d is the softmax over the positions of feature map d of sample j, and f_jd the feature.

    Parameters
    ----------
    weighted
        Σ_j max(S_j^d) f_jd for every feature.
    feature_sums
        Σ_j f_jd for every feature.
    n_samples
        The number of samples n.

    Returns
    -------
    NDArray
        One value per feature; 0 for a feature whose sum is 0.
    """
    sums = np.asarray(feature_sums, dtype=np.float64)
    numerator = validation.vector("weighted", weighted, len(sums))
    denominator = validation.vector("feature_sums", sums, len(sums))
    mean = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)
    return mean / n_samples


def center_from_sums(
    weighted: ArrayLike, feature_sums: ArrayLike, n_samples: int
) -> NDArray[np.float64]:
    """Compute the raw center bias b_d = − Σ_j f_jd / (1 + e_jd) / (n Σ_j f_jd).

    e_jd is the distance from the maximum of feature map d of sample j to the nearest edge, 0 on
    the edge. `weighted` is Σ_j f_jd / (1 + e_jd); all else is as for `locality_from_sums`.
    """
    return -locality_from_sums(weighted, feature_sums, n_samples)
