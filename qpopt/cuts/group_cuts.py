"""Group cuts: what several classes gain together, split on a feature like cuts of one class.

With two cuts κ + g·s and κ' + g'·s of some classes (see `qpopt.cuts.overlap` and
`qpopt.cuts.families`) and any feature i, they gain at most s_i (κ + g·s) + (1 − s_i)(κ' + g'·s),
which is linear in X = ssᵀ. Which features several classes share depends on what else is selected,
so a split often says much more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.families import Family, family_cut
from qpopt.cuts.overlap import OverlapCut, overlap_cut
from qpopt.problem.subproblem import Floats, Indices, Subproblem

Vector = NDArray[np.float64]


class Group(NamedTuple):
    """A cut that takes over part of several classes.

    Parameters
    ----------
    classes
        The classes.
    share
        How much of each of them it stands for, between 0 and 1.
    thresholds, sigma
        Its multipliers; with a feature, where that is not selected.
    feature
        The feature that it is split on, by its position among the free ones; −1 for none.
    given, given_sigma
        The multipliers where the feature is selected; without one the same as the others.
    family, given_family
        What takes the place of σ where everything has been looked at.
    """

    classes: tuple[int, ...]
    share: float
    thresholds: Vector
    sigma: float
    feature: int = -1
    given: Vector = np.zeros(0)
    given_sigma: float = 0.0
    family: Family | None = None
    given_family: Family | None = None

    def renumbered(self, position: Indices, included: Indices) -> Group:
        """Return what it says once features are decided; as for `SplitThresholdCuts`."""
        if self.feature < 0:
            return self
        moved = int(position[self.feature])
        if moved >= 0:
            return self._replace(feature=moved)
        if self.feature in included:
            return self._plain(self.given, self.given_sigma, self.given_family)
        return self._plain(self.thresholds, self.sigma, self.family)

    def _plain(self, thresholds: Vector, sigma: float, family: Family | None) -> Group:
        return Group(self.classes, self.share, thresholds, sigma, family=family)


def size_of_multipliers(thresholds: Vector, sigma: float, n_taken: int) -> float:
    """Return what the multipliers of a cut add up to where so many features are taken.

    They may be far larger than what is left of their sum, and rounding is relative to them.
    """
    return n_taken * (float(np.abs(thresholds).sum()) + abs(sigma) * len(thresholds) ** 2)


class GroupCut(NamedTuple):
    """A group with its overlap cuts, whose constants hold what included features add."""

    group: Group
    given: OverlapCut
    otherwise: OverlapCut

    def at(self, X: Floats) -> float:
        """Return what the classes gain at most at X."""
        diagonal, difference = np.diagonal(X), self.given.gains - self.otherwise.gains
        value = self.otherwise.constant + float(self.otherwise.gains @ diagonal)
        if (i := self.group.feature) >= 0:
            value += float(X[i, i]) * (self.given.constant - self.otherwise.constant)
            value += float(difference @ X[i])
        return value

    def size(self, n_taken: int) -> float:
        """Return what its multipliers add up to where so many features are taken."""
        cuts, families = (self.given, self.otherwise), (self.group.given_family, self.group.family)
        sizes = [size_of_multipliers(cut.thresholds, cut.sigma, n_taken) for cut in cuts]
        return max(sizes) + sum(family.size for family in families if family is not None)


class StackedCuts:
    """The matrices of several cuts, for all of them at once.

    Parameters
    ----------
    cuts
        The cuts.
    sub
        The problem whose classes they are about.

    Attributes
    ----------
    member
        Which classes every cut is about: 1 or 0, cuts × classes.
    """

    def __init__(self, cuts: Sequence[GroupCut], sub: Subproblem) -> None:
        n, m = sub.n_free, sub.n_select
        self.member: Vector = np.zeros((len(cuts), sub.n_classes))
        for number, cut in enumerate(cuts):
            self.member[number, list(cut.group.classes)] = 1.0
        split = [number for number, cut in enumerate(cuts) if cut.group.feature >= 0]
        self._split: Indices = np.array(split, dtype=np.int64)
        self._feature: Indices = np.array([cuts[r].group.feature for r in split], dtype=np.int64)
        self._diagonals: Vector = np.empty((len(cuts), n))
        for number, cut in enumerate(cuts):
            self._diagonals[number] = cut.otherwise.gains + cut.otherwise.constant / m
        self._rows: Vector = np.empty((len(split), n))
        for row, r in zip(self._rows, split, strict=True):
            given, otherwise = cuts[r].given, cuts[r].otherwise
            row[:] = given.gains - otherwise.gains
            row[cuts[r].group.feature] += given.constant - otherwise.constant

    def at(self, M: Floats) -> Vector:
        """Return what every cut gives at M; a constant counts as itself times tr M / n_select."""
        result: Vector = self._diagonals @ np.diagonal(M).astype(np.float64)
        result[self._split] += (self._rows * M[self._feature]).sum(axis=1)
        return result

    def add_to(self, M: Floats, factors: Vector) -> None:
        """Add the symmetric matrices of the cuts, each times its factor, to M."""
        M[np.diag_indices(len(M))] += (factors @ self._diagonals).astype(M.dtype)
        features, number = np.unique(self._feature, return_inverse=True)
        rows = np.zeros((len(features), len(M)))
        np.add.at(rows, number, 0.5 * factors[self._split, None] * self._rows)
        M[features] += rows.astype(M.dtype)
        M[:, features] += rows.T.astype(M.dtype)


class GroupCuts:
    """Makes the cuts of groups of a subproblem.

    Parameters
    ----------
    sub
        The problem.
    """

    def __init__(self, sub: Subproblem) -> None:
        self.A = sub.columns()
        self._sub = sub

    def cut(self, group: Group) -> GroupCut:
        """Return the cut of a group."""
        given = otherwise = self._side(group.classes, group.thresholds, group.sigma, group.family)
        if group.feature >= 0:
            multipliers = group.given, group.given_sigma, group.given_family
            given = self._side(group.classes, *multipliers)
        return GroupCut(group, given, otherwise)

    def _side(
        self, classes: tuple[int, ...], thresholds: Vector, sigma: float, family: Family | None
    ) -> OverlapCut:
        sub = self._sub
        if family is None:
            cut = overlap_cut(self.A, classes, thresholds, sigma, sub.n_per_class)
        else:
            cut = family_cut(self.A, sub, classes, thresholds, family)
        certain = cut.constant + float(cut.gains[sub.n_free :].sum())
        return cut._replace(constant=certain, gains=cut.gains[: sub.n_free])
