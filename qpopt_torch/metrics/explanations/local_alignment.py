"""Local alignment: which attribute a feature follows, among similar classes and among all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from qpopt_torch.errors import LoaderError
from qpopt_torch.metrics.metric import GroupMetric

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Alignments:
    """How far every feature follows every attribute, near every class that it serves.

    Parameters
    ----------
    values
        Distances × classes × features × attributes: r(x) of class, feature and attribute, where x
        is how many features classes may differ in to count as similar; the last x is all classes.
        NaN where the feature does not serve the class, or where all similar samples have the
        attribute, or none.
    """

    values: Floats

    def local(self, x: int, c: int, feature: int, attribute: int) -> float | None:
        """Return r(x), or None where it is not defined."""
        value = float(self.values[x, c, feature, attribute])
        return None if np.isnan(value) else value

    def best(self, x: int) -> float:
        """Return the mean, over classes and their features, of the r(x) of the best attribute."""
        known = self.values[x]
        defined = ~np.isnan(known).all(axis=2)
        return float(np.nanmax(known[defined], axis=1).mean()) if defined.any() else float("nan")

    def overall(self) -> Floats:
        """Return features × attributes: r among all classes; NaN for what serves no class."""
        known = self.values[-1]
        used = ~np.isnan(known).all(axis=(0, 2))
        result = np.full(known.shape[1:], np.nan)
        for feature in np.flatnonzero(used):
            rows = known[:, feature]
            result[feature] = rows[~np.isnan(rows).all(axis=1)][0]
        return result


class LocalAlignment(GroupMetric):
    """Local alignment: how far the best-fitting attribute raises a feature among similar classes.

    For class c, a feature d that serves it, and samples whose class shares at least k − 1 of the k
    features of c,

        r = (mean f_d where the attribute is present − mean f_d where it is absent)
            / mean(f_d − min f_d),

    the last mean over all samples; a feature that is the same everywhere follows nothing, r = 0.
    The value is the mean over c and d of the largest r. It does not change if a feature is shifted
    or multiplied by a positive number.

    Parameters
    ----------
    assignment
        Classes × features.
    present
        Classes × attributes: what is present.
    """

    title = "Local alignment"
    meaning = "feature alignment among classes that share all features but one"
    percent: ClassVar[float] = 100.0

    def __init__(self, assignment: Tensor, present: Tensor) -> None:
        super().__init__(*assignment.shape)
        self.assignment, self.present = assignment, present

    def update(self, features: Tensor, labels: Tensor) -> None:
        """Add a batch: pooled features and classes."""
        members = torch.nn.functional.one_hot(labels.cpu(), len(self.assignment))
        self.add(features, members)

    def alignments(self) -> Alignments:
        """Return r of all distances, classes, features and attributes."""
        sums = self.sums.numpy(), self.counts.numpy(), self.minima.numpy()
        return Alignments(_alignments(*sums, self.assignment.numpy(), self.present.numpy()))

    def compute(self) -> float:
        """Return the mean for classes that differ in one feature; NaN where it is not defined."""
        if not self.counts.any():
            return float("nan")
        return self.alignments().best(1)


def local_alignment(
    features: ArrayLike, labels: ArrayLike, attributes: ArrayLike, assignment: ArrayLike
) -> Alignments:
    """Return how far every feature follows every attribute, near every class that it serves.

    Parameters
    ----------
    features
        Samples × features.
    labels
        The class of every sample.
    attributes
        Classes × attributes, 0/1: what is present.
    assignment
        Classes × features.

    Examples
    --------
    The feature is at 3 with the attribute and at 1 without; 2 above its least value on average.

    >>> import qpopt_torch
    >>> found = qpopt_torch.metrics.local_alignment(
    ...     [[3.0], [1.0], [-1.0]], [0, 1, 1], [[1], [0]], [[1], [1]]
    ... )
    >>> float(found.overall()[0, 0])
    1.5
    """
    values, uses = torch.as_tensor(np.asarray(features)), np.asarray(assignment)
    present, known = np.asarray(attributes).astype(bool), torch.as_tensor(np.asarray(labels))
    fits = values.ndim == 2 and uses.ndim == 2 and present.ndim == 2
    if not fits or uses.shape != (len(present), values.shape[1]) or len(known) != len(values):
        raise LoaderError(
            f"Features {tuple(values.shape)}, labels {tuple(known.shape)}, attributes "
            f"{present.shape} and assignment {uses.shape} do not fit together."
        )
    metric = LocalAlignment(torch.as_tensor(uses), torch.as_tensor(present))
    metric.update(values, known.long())
    return metric.alignments()


def _alignments(
    sums: Floats, counts: Floats, minima: Floats, assignment: Floats, present: NDArray[np.bool_]
) -> Floats:
    """Return r from the sums of features in classes, and how many samples these have."""
    uses = assignment != 0
    signed = np.concatenate([assignment > 0, assignment < 0], axis=1).astype(np.int64)
    shared, sizes = signed @ signed.T, uses.sum(axis=1)
    n_classes, n_features = uses.shape
    activation = sums.sum(axis=0) / counts.sum() - minima
    changing = activation > 1e-12 * np.abs(minima).clip(min=1e-300)
    has = present.astype(np.float64)
    products = (has[:, :, None] * sums[:, None, :]).reshape(n_classes, -1)
    result = np.full((int(sizes.max()) + 1, n_classes, n_features, has.shape[1]), np.nan)
    for x in range(len(result)):
        near = (shared >= (sizes - x)[:, None]).astype(np.float64)
        n_all, n_with = near @ counts, near @ (counts[:, None] * has)
        with_it = (near @ products).reshape(n_classes, has.shape[1], n_features)
        without_it = (near @ sums)[:, None, :] - with_it
        n_without = n_all[:, None] - n_with
        defined = (n_with > 0) & (n_without > 0)
        sides = (
            part / np.where(defined, count, 1.0)[:, :, None]
            for part, count in ((with_it, n_with), (without_it, n_without))
        )
        first, second = sides
        r = np.where(changing, (first - second) / np.where(changing, activation, 1.0), 0.0)
        r = np.where(defined[:, :, None], r, np.nan).transpose(0, 2, 1)
        result[x] = np.where(uses[:, :, None], r, np.nan)
    return result
