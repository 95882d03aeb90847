"""Specificity: favouring features that serve about as many classes as a selected one has to.

A feature that speaks for one class is a detector of it under another name; one that speaks for
nearly all tells none from another. What lies between is left as it is, the rest is made smaller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def effective_classes(A: Floats, neutral: float = 0.0) -> Floats:
    """Return for how many classes every feature speaks: m where it speaks for m of them alike.

    Parameters
    ----------
    A
        Raw similarity, classes × features.
    neutral
        The entry that says nothing; what lies below speaks against a class and does not count.
    """
    above = np.maximum(A - neutral, 0.0)
    largest = above.max(axis=0)
    weights = (above / np.where(largest > 0.0, largest, 1.0)) ** 2
    total = weights.sum(axis=0)
    squares = (weights**2).sum(axis=0)
    return np.where(total > 0.0, total**2 / np.where(squares > 0.0, squares, 1.0), 1.0)


def specificity_factors(effective: Floats, kappa: float, wanted: float, n_classes: int) -> Floats:
    """Return by what every feature is multiplied: 1 at `wanted` classes, 1 − kappa at 1 or all.

    Parameters
    ----------
    effective
        For how many classes every feature speaks.
    kappa
        How much the farthest ones lose, from 0 to below 1.
    wanted
        How many classes a selected feature serves on average.
    n_classes
        The number of classes.
    """
    wanted = min(max(wanted, 1.0), float(n_classes))
    distance = np.log(effective / wanted)
    below, beyond = np.log(wanted), np.log(n_classes / wanted)
    scale = np.where(distance < 0.0, below, beyond)
    share = np.divide(distance, scale, out=np.zeros_like(distance), where=scale > 0.0)
    factors: Floats = 1.0 - kappa * np.clip(np.abs(share), 0.0, 1.0) ** 2
    return factors
