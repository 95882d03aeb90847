"""Thresholds: cuts on what the classes gain, without assignment, and the matrix of their average.

top_k(c, s) = min over τ of kτ + Σ_d (a_cd − τ)⁺ s_d. Every class is bounded by an average of such
cuts, split on features (see `qpopt.cuts.split_thresholds`) or, where classes must not get the
same set, by cuts of several classes together (see `qpopt.cuts.overlap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from qpopt.cuts.overlap import (
    OverlapCut,
    OverlapParams,
    best_overlap,
    crowded_groups,
    overlap_cut,
    shares,
)
from qpopt.cuts.split_thresholds import (
    ClassColumns,
    SplitParams,
    SplitThresholdCuts,
    SplitThresholds,
)
from qpopt.problem.subproblem import Floats, Subproblem

LEAST_SHARE = 1e-6
"""A smaller share comes from rounding: such groups are left out."""


@dataclass(frozen=True)
class ThresholdParams:
    """How cuts on what the classes gain are found.

    Parameters
    ----------
    splits, overlap
        Those of the cuts of single classes, and of several.
    largest_pool
        How many overlap cuts are kept for later.
    updates_per_separation
        How often the shares of overlap cuts are found anew before new ones are looked for.
    """

    splits: SplitParams = SplitParams()
    overlap: OverlapParams = OverlapParams()
    largest_pool: int = 300
    updates_per_separation: int = 4


class Group(NamedTuple):
    """An overlap cut that takes over part of several classes; see `qpopt.cuts.overlap`.

    Parameters
    ----------
    classes
        The classes.
    share
        How much of each of them it stands for, between 0 and 1.
    thresholds, sigma
        Its multipliers.
    """

    classes: tuple[int, ...]
    share: float
    thresholds: NDArray[np.float64]
    sigma: float


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
    groups
        The cuts of several classes.
    """

    def __init__(
        self,
        sub: Subproblem,
        cuts: SplitThresholdCuts | None = None,
        groups: Sequence[Group] = (),
        params: ThresholdParams = ThresholdParams(),
    ) -> None:
        self.splits = SplitThresholds(sub, cuts, params.splits)
        self.groups: list[Group] = list(groups)
        self._columns = sub.columns()
        self._sub = sub
        self._params = params
        self._updates = 0
        self._pool = [self._overlap_cut(group) for group in groups]

    @property
    def left(self) -> NDArray[np.float64]:
        """What the groups leave of every class."""
        result = np.ones(self._sub.n_classes)
        for group in self.groups:
            result[list(group.classes)] -= group.share
        return np.maximum(result, 0.0)

    def matrix(self) -> NDArray[np.float64]:
        """Return the symmetric matrix L with Σ_c top_k(c) ≤ sᵀLs for every selection s."""
        n, m = self._sub.n_free, self._sub.n_select
        result = np.zeros((n, n))
        self.splits.add_to(result, self.left[self.splits.cuts.classes] * self.splits.cuts.shares)
        diagonal = np.zeros(n)
        for group in self.groups:
            cut = self._overlap_cut(group)
            constant = cut.constant + float(cut.gains[n:].sum())
            diagonal += group.share * (cut.gains[:n] + constant / m)
        result[np.diag_indices(n)] += diagonal
        return result

    def update(self, X: Floats, weight: float, *, groups: bool = False) -> None:
        """Look for better cuts at X.

        Parameters
        ----------
        X
            The relaxed solution.
        weight
            The share of new overlap cuts in the average with those there are, between 0 and 1.
        groups
            Whether to look for overlap cuts.
        """
        single = self.splits.renew(X)
        if not groups:
            return
        old = [group._replace(share=group.share * (1.0 - weight)) for group in self.groups]
        best = self._best_groups(X, single)
        new = [group._replace(share=group.share * weight) for group in best]
        self.groups = [group for group in _together(old + new) if group.share > LEAST_SHARE]

    def copy(self) -> Thresholds:
        """Return cuts that go their own way from here."""
        twin = copy(self)
        twin.splits = copy(self.splits)
        twin.groups = list(self.groups)
        twin._pool = list(self._pool)
        return twin

    def _overlap_cut(self, group: Group) -> OverlapCut:
        return overlap_cut(
            self._columns, group.classes, group.thresholds, group.sigma, self._sub.n_per_class
        )

    def _best_groups(self, X: Floats, single: NDArray[np.float64]) -> list[Group]:
        """Return overlap cuts that give less at X than the cuts of their classes."""
        k, params = self._sub.n_per_class, self._params
        weight = np.ones(self._columns.shape[1])
        weight[: self._sub.n_free] = np.clip(np.diagonal(X), 0.0, 1.0)
        if self._updates % params.updates_per_separation == 0:
            share = shares(self.splits.columns.order, weight, k)
            crowded = crowded_groups(share, weight, k, params.overlap)
            self._pool += [best_overlap(self._columns, group, weight, k) for group in crowded]
        self._updates += 1
        gains = [
            float(single[list(cut.classes)].sum() - cut.constant - cut.gains @ weight)
            for cut in self._pool
        ]
        order = np.argsort(-np.array(gains), kind="stable")[: params.largest_pool]
        best = [j for j in order if gains[j] > 0.0]
        self._pool = [self._pool[j] for j in best]
        chosen = _packing(self._pool, [gains[j] for j in best], self._sub.n_classes)
        return [
            Group(cut.classes, float(share), cut.thresholds, cut.sigma)
            for cut, share in zip(self._pool, chosen, strict=True)
            if share > LEAST_SHARE
        ]


def _together(groups: list[Group]) -> list[Group]:
    """Return the groups with equal cuts made one."""
    result: dict[tuple[Any, ...], Group] = {}
    for group in groups:
        key = (group.classes, group.sigma, group.thresholds.tobytes())
        share = group.share + (result[key].share if key in result else 0.0)
        result[key] = group._replace(share=share)
    return list(result.values())


def common_thresholds(columns: ClassColumns, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the best threshold of every class where every column is selected by its weight."""
    reached = np.cumsum(weight[columns.order], axis=1) >= columns.n_per_class
    reached[:, -1] = True
    places = reached.argmax(axis=1)
    thresholds: NDArray[np.float64] = columns.values[np.arange(len(places)), places]
    return thresholds


def _packing(cuts: list[OverlapCut], gains: list[float], n_classes: int) -> NDArray[np.float64]:
    """Share the classes out among cuts so that the gain is largest, a little below 1 each."""
    if not cuts:
        return np.zeros(0)
    member = np.repeat(np.arange(len(cuts)), [len(cut.classes) for cut in cuts])
    classes = np.concatenate([cut.classes for cut in cuts])
    rows = coo_array((np.ones(len(member)), (classes, member)), shape=(n_classes, len(cuts)))
    result = linprog(
        -np.array(gains), A_ub=rows.tocsr(), b_ub=np.ones(n_classes), bounds=(0, 1), method="highs"
    )
    if result.status != 0:
        return np.zeros(len(cuts))
    # The tolerance of the solver must not make a share negative.
    chosen: NDArray[np.float64] = np.clip(result.x, 0.0, 1.0)
    return chosen / max(1.0, float((rows.tocsr() @ chosen).max()))
