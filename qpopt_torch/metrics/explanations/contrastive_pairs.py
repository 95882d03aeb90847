"""Contrastive pairs: classes that differ in one feature, so that one feature tells them apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qpopt_torch.metrics.metric import Metric


@dataclass(frozen=True)
class PairCount:
    """How many classes differ in one feature.

    Parameters
    ----------
    n_pairs
        The number of such pairs.
    share
        Their share of all pairs, in percent; 0 for one class.
    share_of_classes
        The share of classes that are in one, in percent.
    """

    n_pairs: int
    share: float
    share_of_classes: float


class ContrastivePairs(Metric):
    """The share of class pairs that differ in one feature, as a metric; it sees no samples."""

    title = "Contrastive pairs"
    meaning = "class pairs of which one feature each tells them apart"

    def __init__(self, assignment: ArrayLike) -> None:
        self.assignment = assignment

    def compute(self) -> float:
        """Return the share in percent."""
        return contrastive_pairs(self.assignment).share


def contrastive_pairs(assignment: ArrayLike) -> PairCount:
    """Count the class pairs that have all features but one each in common.

    Parameters
    ----------
    assignment
        Classes × features: 0, 1, or -1 where a feature speaks against a class; a feature and the
        same one against a class are two. Only classes of as many features are compared.

    Examples
    --------
    Of three pairs, the first two classes share one of two features.

    >>> import qpopt_torch
    >>> found = qpopt_torch.metrics.contrastive_pairs([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 2]])
    >>> found.n_pairs
    1
    """
    weights = np.sign(np.asarray(assignment, dtype=np.float64))
    signed = np.concatenate([weights > 0, weights < 0], axis=1).astype(np.int64)
    sizes, shared = signed.sum(axis=1), signed @ signed.T
    alike = (sizes[:, None] == sizes) & (shared == sizes - 1) & (sizes > 0)
    np.fill_diagonal(alike, False)
    n_pairs, n_classes = int(alike.sum()) // 2, len(weights)
    every = n_classes * (n_classes - 1) // 2
    share = 100.0 * n_pairs / every if every else 0.0
    return PairCount(n_pairs, share, 100.0 * float(alike.any(axis=1).mean()))
