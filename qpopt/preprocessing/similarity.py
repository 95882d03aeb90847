"""How well a feature tells a class, computed from sums that one pass over the samples gives."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.errors import InvalidInstance
from qpopt.problem import validation

CONSTANT = 1e-14
"""Variance, relative to the mean square, at or below which a feature counts as constant: what is
left is rounding of the sums."""

logger = logging.getLogger("qpopt")


def pearson_from_sums(
    counts: ArrayLike,
    sums: ArrayLike,
    squares: ArrayLike,
    *,
    class_names: Sequence[str] | None = None,
) -> NDArray[np.float64]:
    """Compute the Pearson correlation of every feature with the 0/1 labels of every class.

    With n samples, n_c of them in class c, class sums S_cd, S_d = Σ_c S_cd and sums of squares
    Q_d, the population correlation is

        (S_cd − n_c S_d / n) / √(n_c (1 − n_c / n)) / √(Q_d − S_d² / n).

    Correlation does not change when a constant is subtracted from a feature, so the sums may be
    those of shifted features; a shift near the mean keeps the differences free of cancellation.

    Parameters
    ----------
    counts
        Number of samples of every class.
    sums
        Sum of every feature over the samples of every class, classes × features.
    squares
        Sum of the squares of every feature over all samples.
    class_names
        Names for the error about a class without samples.

    Returns
    -------
    NDArray
        Classes × features. A constant feature gets 0, and so does every feature if one class has
        all samples.

    Raises
    ------
    InvalidInstance
        If a class has no samples.
    """
    by_class = validation.matrix("sums", sums)
    n_classes, n_features = by_class.shape
    sizes = _class_sizes(counts, n_classes, class_names)
    total_squares = validation.vector("squares", squares, n_features)
    n = sizes.sum()
    totals = by_class.sum(axis=0)
    variance = total_squares / n - (totals / n) ** 2
    constant = variance <= CONSTANT * total_squares / n
    if constant.any():
        logger.warning("%d features are constant over all samples.", int(constant.sum()))
    feature_spread = np.sqrt(np.where(constant, 1.0, variance))
    class_spread = np.sqrt(sizes * (1 - sizes / n) / n)[:, None]
    covariance = by_class / n - (sizes / n)[:, None] * (totals / n)
    scaled = np.divide(
        covariance, class_spread, out=np.zeros_like(covariance), where=class_spread > 0
    )
    A: NDArray[np.float64] = np.where(constant, 0.0, scaled / feature_spread)
    return np.clip(A, -1.0, 1.0)


def auroc_from_histograms(
    histograms: ArrayLike, *, class_names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Compute the area under the ROC curve of every feature as a detector of every class.

    It is the chance that a sample of the class has a larger value than one of another class, ties
    counted half. Values in the same bin count as ties, so the result is exact up to that.

    Parameters
    ----------
    histograms
        Number of samples by class, feature and bin, the bins in rising order of value.
    class_names
        Names for the error about a class without samples.

    Returns
    -------
    NDArray
        Classes × features; 0.5 where one class has all samples.

    Raises
    ------
    InvalidInstance
        If the histograms are malformed or a class has no samples.
    """
    bins = np.asarray(histograms)
    if bins.ndim != 3 or 0 in bins.shape:
        raise InvalidInstance(
            f"Histograms have the axes class, feature and bin; the shape is {bins.shape}."
        )
    sizes = _class_sizes(bins[:, 0].sum(axis=1), len(bins), class_names)
    total = bins.sum(axis=0, dtype=np.float64)
    A = np.empty(bins.shape[:2])
    for c, members in enumerate(bins.astype(np.float64, copy=False)):
        others = total - members
        below = np.cumsum(others, axis=1) - others / 2
        pairs = sizes[c] * (sizes.sum() - sizes[c])
        A[c] = (members * below).sum(axis=1) / pairs if pairs else 0.5
    return A


def auroc_from_rank_sums(
    counts: ArrayLike, sums: ArrayLike, *, class_names: Sequence[str] | None = None
) -> NDArray[np.float64]:
    """Compute the area under the ROC curve of every feature as a detector of every class, exactly.

    With the ranks of all n values of a feature, from 1 and equal values sharing their average, and
    their sum R_cd over the n_c samples of a class, it is

        (R_cd − n_c (n_c + 1) / 2) / (n_c (n − n_c)).

    Parameters
    ----------
    counts
        Number of samples of every class.
    sums
        R, classes × features.
    class_names
        Names for the error about a class without samples.

    Returns
    -------
    NDArray
        Classes × features; 0.5 where one class has all samples.

    Raises
    ------
    InvalidInstance
        If a class has no samples.
    """
    by_class = validation.matrix("sums", sums)
    sizes = _class_sizes(counts, len(by_class), class_names)[:, None]
    pairs = sizes * (sizes.sum() - sizes)
    won = by_class - sizes * (sizes + 1) / 2
    A: NDArray[np.float64] = np.where(pairs > 0, won / np.maximum(pairs, 1.0), 0.5)
    return A


def _class_sizes(
    counts: ArrayLike, n_classes: int, class_names: Sequence[str] | None
) -> NDArray[np.float64]:
    sizes = np.asarray(counts, dtype=np.float64)
    if sizes.shape != (n_classes,):
        raise InvalidInstance(
            f"counts must hold one number for each of the {n_classes} classes; "
            f"its shape is {sizes.shape}."
        )
    names = validation.names("class_names", class_names, n_classes)
    if empty := np.flatnonzero(sizes <= 0).tolist():
        first = str(empty[0]) if names is None else f"{empty[0]} ({names[empty[0]]})"
        more = f" (and {len(empty) - 1} others)" if len(empty) > 1 else ""
        raise InvalidInstance(
            f"Class {first}{more} has no samples, so nothing can be said about its features; add "
            "samples or leave the class out."
        )
    return sizes
