"""Threshold cuts: an exact linear description of what the classes gain, without assignment.

top_k(c, s) = min over τ of kτ + Σ_d (a_cd − τ)⁺ s_d. Lifted to X = ssᵀ there is one threshold for
every class and feature: n_select · top_k(c) ≤ Σ_i [k τ_ci X_ii + Σ_d (a_cd − τ_ci)⁺ X_id].
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from qpopt.bounds.overlap import best_overlap, crowded_groups, overlap_cut, shares
from qpopt.bounds.reduced import Floats, Indices, Reduced

LOWEST_DIAGONAL = 1e-4
"""Rows of X with a smaller diagonal are noise; common thresholds take the place of theirs."""

MOST_GROUPS = 60
"""How many groups of classes get a new overlap cut at once."""

LARGEST_POOL = 300
"""How many overlap cuts are kept for later."""

UPDATES_PER_SEPARATION = 4

MOST_ROUNDS = 24
"""How many sets of thresholds are averaged; the oldest is dropped."""


@dataclass(frozen=True, eq=False)
class Group:
    """An overlap cut that takes over part of several classes; see `qpopt.bounds.overlap`.

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


@dataclass(frozen=True, eq=False)
class Round:
    """One complete set of cuts: for every class, cuts whose shares add up to 1.

    Parameters
    ----------
    weight
        The part of this set in the average.
    thresholds
        Lifted thresholds, classes × free: they stand for what the groups leave of a class.
    groups
        Overlap cuts.
    """

    weight: float
    thresholds: NDArray[np.float32]
    groups: tuple[Group, ...] = ()


class LiftedThresholds:
    """The weighted average of several sets of cuts on what the classes gain, and its matrix.

    Every set is valid, so is every average. Averaging is needed because the best thresholds for
    one X jump; the matrix of the average moves slowly.

    Parameters
    ----------
    reduced
        The problem whose classes are bounded.
    rounds
        Sets of cuts to start with; without any, add one first.
    """

    def __init__(self, reduced: Reduced, rounds: Sequence[Round] = ()) -> None:
        self._columns = reduced.columns()
        self._reduced = reduced
        self._order = np.argsort(-self._columns, axis=1, kind="stable").astype(np.int32)
        self._values = np.take_along_axis(self._columns, self._order, axis=1)
        n = reduced.n_free
        self.matrix: NDArray[np.float64] = np.zeros((n, n))
        total = sum(one.weight for one in rounds)
        self.rounds = [replace(one, weight=one.weight / total) for one in rounds]
        self._updates = 0
        k = reduced.n_per_class
        self._pool = [
            overlap_cut(self._columns, group.classes, group.thresholds, group.sigma, k)
            for group in (rounds[-1].groups if rounds else ())
        ]
        for one in self.rounds:
            self.matrix += one.weight * self._matrix_of(one)

    def update(self, X: Floats, weight: float, *, groups: bool = False) -> None:
        """Give the best cuts for X the share `weight` of the average.

        Parameters
        ----------
        X
            The relaxed solution.
        weight
            The share, between 0 and 1.
        groups
            Whether to look for overlap cuts.
        """
        thresholds = self.best(X)
        if not self.rounds:
            weight = 1.0
        found = self._best_groups(X, thresholds) if groups else ()
        new = Round(weight, thresholds, found)
        self.rounds = [replace(old, weight=old.weight * (1.0 - weight)) for old in self.rounds]
        self.rounds.append(new)
        self.matrix *= 1.0 - weight
        self.matrix += weight * self._matrix_of(new)
        if len(self.rounds) > MOST_ROUNDS:
            self._drop_oldest()

    def extended(self, X: Floats, reduced: Reduced, positions: Indices) -> list[Round]:
        """Return the sets of cuts for more features, with common thresholds for the new ones.

        Parameters
        ----------
        X
            The relaxed solution of the present features.
        reduced
            The problem with more features.
        positions
            Where the present features are among those of `reduced`.
        """
        weight = np.ones(self._columns.shape[1])
        weight[: len(X)] = np.clip(np.diagonal(X), 0.0, 1.0)
        common = common_thresholds(self._order, self._values, weight, self._reduced.n_per_class)
        rounds = []
        for one in self.rounds:
            thresholds = np.repeat(common[:, None].astype(np.float32), reduced.n_free, axis=1)
            thresholds[:, positions] = one.thresholds
            rounds.append(replace(one, thresholds=thresholds))
        return rounds

    def copy(self) -> LiftedThresholds:
        """Return an average that goes its own way from here."""
        twin = copy(self)
        twin.rounds = list(self.rounds)
        twin._pool = list(self._pool)
        twin.matrix = self.matrix.copy()
        return twin

    def best(self, X: Floats) -> NDArray[np.float32]:
        """Return the best thresholds for X, classes × free."""
        from qpopt.bounds.kernels import best_thresholds

        thresholds = np.empty((self._reduced.n_classes, self._reduced.n_free), dtype=np.float32)
        best_thresholds(
            self._order, self._values, X, self._reduced.n_per_class, LOWEST_DIAGONAL, thresholds
        )
        return thresholds

    def _best_groups(self, X: Floats, thresholds: NDArray[np.float32]) -> tuple[Group, ...]:
        """Return overlap cuts that give less at X than the thresholds of their classes."""
        from qpopt.bounds.kernels import lifted_values

        k, n = self._reduced.n_per_class, self._reduced.n_free
        weight = np.ones(self._columns.shape[1])
        weight[:n] = np.clip(np.diagonal(X), 0.0, 1.0)
        if self._updates % UPDATES_PER_SEPARATION == 0:
            crowded = crowded_groups(shares(self._order, weight, k), weight, k, MOST_GROUPS)
            self._pool += [best_overlap(self._columns, group, weight, k) for group in crowded]
        self._updates += 1
        if not self._pool:
            return ()
        single = np.zeros(self._reduced.n_classes)
        lifted_values(self._order, self._values, thresholds, X, k, single)
        single /= self._reduced.n_select
        gains = [
            float(single[list(cut.classes)].sum() - cut.constant - cut.gains @ weight)
            for cut in self._pool
        ]
        best = np.argsort(-np.array(gains), kind="stable")[:LARGEST_POOL]
        self._pool = [self._pool[j] for j in best if gains[j] > 0.0]
        kept = [gains[j] for j in best if gains[j] > 0.0]
        chosen = _packing([cut.classes for cut in self._pool], kept, self._reduced.n_classes)
        return tuple(
            Group(cut.classes, share, cut.thresholds, cut.sigma)
            for cut, share in zip(self._pool, chosen, strict=True)
            if share > 1e-6
        )

    def _drop_oldest(self) -> None:
        oldest = self.rounds.pop(0)
        self.matrix -= oldest.weight * self._matrix_of(oldest)
        self.matrix /= 1.0 - oldest.weight
        rest = 1.0 - oldest.weight
        self.rounds = [replace(one, weight=one.weight / rest) for one in self.rounds]

    def _matrix_of(self, one: Round) -> NDArray[np.float64]:
        """Return the symmetric matrix of one set of cuts, to be used with X = ssᵀ."""
        from qpopt.bounds.kernels import lifted_matrix

        reduced = self._reduced
        n, m, k = reduced.n_free, reduced.n_select, reduced.n_per_class
        left = np.ones(reduced.n_classes)
        diagonal = np.zeros(n)
        for group in one.groups:
            left[list(group.classes)] -= group.share
            cut = overlap_cut(self._columns, group.classes, group.thresholds, group.sigma, k)
            constant = cut.constant + float(cut.gains[n:].sum())
            diagonal += group.share * (cut.gains[:n] + constant / m)
        L = np.empty((n, n))
        lifted_matrix(self._order, self._values, one.thresholds, np.maximum(left, 0.0), k, L)
        result: NDArray[np.float64] = (L + L.T) * (0.5 / m)
        result[np.diag_indices(n)] += diagonal
        return result


def common_thresholds(
    order: NDArray[np.integer[Any]],
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    n_per_class: int,
) -> NDArray[np.float64]:
    """Return the best threshold of every class at a fractional selection.

    Parameters
    ----------
    order, values
        The columns of every class by falling similarity, and the similarities.
    weight
        How much every column is selected.
    n_per_class
        How many features a class gets.
    """
    reached = np.cumsum(weight[order], axis=1) >= n_per_class
    reached[:, -1] = True
    places = reached.argmax(axis=1)
    thresholds: NDArray[np.float64] = values[np.arange(len(values)), places]
    return thresholds


def _packing(
    groups: list[tuple[int, ...]], gains: list[float], n_classes: int
) -> NDArray[np.float64]:
    """Share the classes out among the groups so that the gain is largest, a little below 1 each."""
    if not groups:
        return np.zeros(0)
    member = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    classes = np.concatenate([np.array(group) for group in groups])
    rows = coo_array((np.ones(len(member)), (classes, member)), shape=(n_classes, len(groups)))
    result = linprog(
        -np.array(gains), A_ub=rows.tocsr(), b_ub=np.ones(n_classes), bounds=(0, 1), method="highs"
    )
    if result.status != 0:
        return np.zeros(len(groups))
    # The tolerance of the solver must not make a share negative.
    chosen: NDArray[np.float64] = np.clip(result.x, 0.0, 1.0)
    return chosen / max(1.0, float((rows.tocsr() @ chosen).max()))
