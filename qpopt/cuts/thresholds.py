"""Thresholds: cuts on what the classes gain, without assignment, and the matrix of their average.

top_k(c, s) = min over τ of kτ + Σ_d (a_cd − τ)⁺ s_d. Every class is bounded by an average of such
cuts, split on features (see `qpopt.cuts.split_thresholds`) or, where classes must not get the
same set, by cuts of several classes together (see `qpopt.cuts.groups`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.group_cuts import Group
from qpopt.cuts.groups import GroupParams, Groups
from qpopt.cuts.split_thresholds import SplitParams, SplitThresholdCuts, SplitThresholds
from qpopt.problem.subproblem import Floats, Indices, Subproblem


@dataclass(frozen=True)
class ThresholdParams:
    """How cuts on what the classes gain are found.

    Parameters
    ----------
    splits, groups
        Those of the cuts of single classes, and of several.
    """

    splits: SplitParams = SplitParams()
    groups: GroupParams = GroupParams()


class Thresholds:
    """Cuts on what the classes gain: for every class, cuts whose shares add up to 1.

    Parameters
    ----------
    sub
        The problem whose classes are bounded.
    cuts, groups
        Cuts to start with; without any, `update` first.
    params
        How cuts are found.

    Attributes
    ----------
    splits
        The cuts of single classes: they stand for what the groups leave of a class.
    """

    def __init__(
        self,
        sub: Subproblem,
        cuts: SplitThresholdCuts | None = None,
        groups: Sequence[Group] = (),
        params: ThresholdParams = ThresholdParams(),
    ) -> None:
        self.splits = SplitThresholds(sub, cuts, params.splits)
        self._groups = Groups(sub, self.splits.columns, groups, params.groups)
        self._sub = sub
        self._params = params

    @property
    def groups(self) -> list[Group]:
        """The cuts of several classes."""
        return self._groups.groups

    @property
    def left(self) -> NDArray[np.float64]:
        """What the groups leave of every class."""
        return self._groups.left

    @property
    def size(self) -> float:
        """What the multipliers of the groups add up to."""
        return self._groups.size

    def matrix(self) -> NDArray[np.float64]:
        """Return the symmetric matrix L with Σ_c top_k(c) ≤ sᵀLs for every selection s."""
        n = self._sub.n_free
        result = np.zeros((n, n))
        self.splits.add_to(result, self.left[self.splits.cuts.classes] * self.splits.cuts.shares)
        self._groups.add_to(result)
        return result

    def update(self, X: Floats, weight: float, *, groups: bool = False) -> None:
        """Look for better cuts at X.

        Parameters
        ----------
        X
            The relaxed solution.
        weight
            The share of the first overlap cuts, between 0 and 1.
        groups
            Whether to look for overlap cuts.
        """
        single = self.splits.renew(X)
        if groups:
            self._groups.update(X, single, self.splits, weight)

    def step(self, residual: Floats) -> Floats:
        """Move the shares so that a residual becomes smaller; return what they add to the matrix.

        The residual is changed: it loses as much.
        """
        left = self._groups.left
        moved = self.splits.step(residual, left)
        change = np.zeros_like(residual)
        self.splits.add_to(change, moved * left[self.splits.cuts.classes])
        self._groups.step(residual, self.splits, change)
        return change

    def renumbered(self, sub: Subproblem, position: Indices, included: Indices) -> Thresholds:
        """Return what the cuts say of a problem in which features have other numbers.

        Parameters
        ----------
        sub
            The problem.
        position, included
            As for `SplitThresholdCuts.renumbered`.
        """
        cuts = self.splits.cuts.renumbered(position, included)
        groups = [group.renumbered(position, included) for group in self.groups]
        return Thresholds(sub, cuts, groups, self._params)

    def copy(self) -> Thresholds:
        """Return cuts that go their own way from here."""
        twin = copy(self)
        twin.splits = copy(self.splits)
        twin._groups = self._groups.copy()
        return twin
