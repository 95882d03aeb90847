"""The instance in whole numbers, as the swap search sees it.

Sums of whole numbers are exact, so a state that is updated by adding and subtracting never drifts
from the one rebuilt from scratch, and 32 bits let a processor treat many features at once. The
unit is chosen so that no sum can overflow; it is about a billionth of the largest sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.instance import Instance

LARGEST_SUM = 2**28


class IntegerInstance(NamedTuple):
    """What the compiled loops need of an instance.

    Parameters
    ----------
    A, A_by_feature
        Similarity in units, classes × features and features × classes.
    R, b
        Redundancy and bias in units.
    fixed, allowed
        Masks of the features that every selection contains and may contain.
    key
        A random number for each feature; their sum names a set of features.
    n_per_class
        How many features every class gets.
    n_listed
        How many of its best selected features a class chooses from when it has to give way.
    """

    A: NDArray[np.int32]
    A_by_feature: NDArray[np.int32]
    R: NDArray[np.int32]
    b: NDArray[np.int32]
    fixed: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    key: NDArray[np.uint64]
    n_per_class: int
    n_listed: int


class PlainNumbers(NamedTuple):
    """What an instance without demands is made of, where no Instance is needed."""

    A: NDArray[np.float64]
    R: NDArray[np.float64]
    b: NDArray[np.float64]
    n_select: int
    n_per_class: int
    included: tuple[int, ...]
    excluded: tuple[int, ...]

    @property
    def n_features(self) -> int:
        """The number of columns to choose from."""
        return len(self.b)


def in_units(instance: Instance | PlainNumbers) -> tuple[IntegerInstance, float]:
    """Return an instance rounded to whole units, and the size of a unit."""
    similarity = float(np.abs(instance.A).max(axis=1).sum())
    redundancy = instance.n_select * float(instance.R.max())
    bias = instance.n_select * float(np.abs(instance.b).max())
    largest = 6 * similarity + 2 * redundancy + 2 * bias
    unit = largest / LARGEST_SUM if largest > 0 else 1.0
    A = np.rint(instance.A / unit).astype(np.int32)
    fixed = np.zeros(instance.n_features, dtype=bool)
    fixed[list(instance.included)] = True
    allowed = np.ones(instance.n_features, dtype=bool)
    allowed[list(instance.excluded)] = False
    # How many features beyond its best a class needs: more where many rows are equal.
    _, counts = np.unique(instance.A, axis=0, return_counts=True)
    further = max(3, -(-2 * int(counts.max()) // instance.n_per_class))
    keys = np.random.default_rng(0).integers(2**64, size=instance.n_features, dtype=np.uint64)
    return IntegerInstance(
        A,
        np.ascontiguousarray(A.T),
        np.rint(instance.R / unit).astype(np.int32),
        np.rint(instance.b / unit).astype(np.int32),
        fixed,
        allowed,
        keys,
        instance.n_per_class,
        min(instance.n_select, instance.n_per_class + further),
    ), unit
