"""Depths: how far the classes of a sample agree with the predicted one, feature by feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

BLOCK = 2_000_000
"""Features of all classes of some samples that are ordered together, at most."""


@dataclass(frozen=True, eq=False)
class Depths:
    """The features of every class by falling activation, beside those of the predicted class.

    One order, falling activation and then the index of the feature, holds for all classes. So two
    classes have the same first features if and only if the sets of these are equal.

    Parameters
    ----------
    predicted
        The predicted class of every sample.
    order
        Columns of the features of every class in this order, samples × classes × largest budget;
        -1 where a class has no more.
    values
        What they add to the sum of the class, in the same places; 0 where there is none.
    active
        How many features of the predicted class are active: they add more than 0.
    shared
        Samples × classes: how many active features, from the first one on, a class has in common
        with the predicted one; for that one itself, the number of levels.
    lasting
        Samples × classes: the deepest level at which a class is still possible.
    """

    predicted: Whole
    order: Whole
    values: Floats
    active: Whole
    shared: Whole
    lasting: Whole

    @classmethod
    def of(cls, values: ArrayLike, assignment: ArrayLike, predicted: ArrayLike) -> Depths:
        """Order the features of all classes for every sample.

        Parameters
        ----------
        values
            Features as they are added up, samples × features.
        assignment
            Classes × features: 0, 1, or -1 where a feature speaks against a class.
        predicted
            The predicted class of every sample.
        """
        added, weights = np.asarray(values, dtype=np.float64), np.asarray(assignment).astype(int)
        winners = np.asarray(predicted, dtype=np.int64)
        rows, budgets = np.arange(len(added)), (weights != 0).sum(axis=1)
        n_levels = int(budgets.max(initial=0))
        columns = np.full((len(weights), n_levels), -1, dtype=np.int64)
        for own, row in zip(columns, weights, strict=True):
            used = np.flatnonzero(row)
            own[: len(used)] = used
        present = columns >= 0
        signs = np.where(present, np.take_along_axis(weights, columns, axis=1), 0)
        terms = np.where(present, added[:, columns] * signs, -np.inf)
        place = np.argsort(-terms, axis=2, kind="stable")  # columns rise, so ties are by index
        order = np.take_along_axis(np.broadcast_to(columns, terms.shape), place, axis=2)
        # A feature for a class and the same one against it are two.
        signed = np.take_along_axis(
            np.broadcast_to(2 * columns + (signs < 0), terms.shape), place, 2
        )
        terms = np.take_along_axis(terms, place, axis=2)
        active = (terms[rows, winners] > 0).sum(axis=1)
        same = np.logical_and.accumulate(signed == signed[rows, winners][:, None], axis=2)
        shared = np.minimum(same.sum(axis=2), np.minimum(active[:, None], budgets))
        lasting = np.where(shared >= active[:, None], np.minimum(n_levels - 1, budgets), shared)
        shared[rows, winners] = lasting[rows, winners] = n_levels
        return cls(
            winners, order, np.where(np.isfinite(terms), terms, 0.0), active, shared, lasting
        )

    @property
    def n_levels(self) -> int:
        """The number of the last level, at which only the predicted class is left."""
        return int(self.order.shape[2])

    def possible(self, level: int) -> NDArray[np.bool_]:
        """Return which classes are possible at a level, samples × classes; all are at level 0."""
        still: NDArray[np.bool_] = self.lasting >= level
        return still


def deepest_levels(
    values: ArrayLike, assignment: ArrayLike, predicted: ArrayLike, labels: ArrayLike
) -> tuple[Whole, int]:
    """Return the deepest level that holds the true class of every sample, and the last level.

    Arguments are those of `Depths.of`, and the true classes. Samples are taken a few at a time.
    """
    added, weights, winners, known = map(np.asarray, (values, assignment, predicted, labels))
    last = int((weights != 0).sum(axis=1).max(initial=0))
    found = [np.zeros(0, dtype=np.int64)]
    for rows in blocks(len(added), weights):
        depths = Depths.of(added[rows], weights, winners[rows])
        found.append(depths.lasting[np.arange(len(depths.predicted)), known[rows]])
    return np.concatenate(found), last


def blocks(n_samples: int, assignment: ArrayLike) -> Iterator[slice]:
    """Yield samples a few at a time, so that what is ordered together fits into memory."""
    weights = np.asarray(assignment)
    used = int((weights != 0).sum(axis=1).max(initial=1))
    size = max(1, BLOCK // max(1, used * len(weights)))
    for start in range(0, n_samples, size):
        yield slice(start, start + size)
