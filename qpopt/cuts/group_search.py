"""GroupSearch: which classes would share too many features, and the cuts that say so best.

Classes that must share all features but one get cuts as well; see `qpopt.cuts.overlap`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.group_cuts import Group, GroupCut, GroupCuts
from qpopt.cuts.overlap import OverlapParams, crowded_groups, shares
from qpopt.cuts.pairs import pair_multipliers
from qpopt.cuts.split_thresholds import ClassColumns, SplitThresholdCuts, common_thresholds
from qpopt.kernels.auction import improve_multipliers
from qpopt.problem.subproblem import Floats, Subproblem

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class GroupSearchParams:
    """How groups are looked for.

    Parameters
    ----------
    overlap
        Which classes are looked at together.
    splits
        On how many features a group is split, one after the other; the best split is kept.
    lowest_diagonal
        Features selected less than this, or left out less, make no split worth having.
    steps, last_steps
        How long multipliers are improved: of every split, and of the best one.
    largest_multiplier
        Multipliers that become larger than this, relative to the largest similarity, are not kept.
    hope, first_sigma
        By how much the first of these steps want to improve a cut, relative to what it gives, and
        the σ to start from, relative to the largest similarity.
    """

    overlap: OverlapParams = OverlapParams()
    splits: int = 4
    lowest_diagonal: float = 0.02
    steps: int = 80
    last_steps: int = 400
    largest_multiplier: float = 1e3
    hope: float = 3e-3
    first_sigma: float = 0.05


class GroupSearch:
    """Looks for groups of a subproblem.

    Parameters
    ----------
    sub
        The problem.
    columns
        What its classes choose from, in their order.
    cuts
        Makes the cuts of groups.
    params
        How to look.
    """

    def __init__(
        self,
        sub: Subproblem,
        columns: ClassColumns,
        cuts: GroupCuts,
        params: GroupSearchParams = GroupSearchParams(),
    ) -> None:
        self._sub = sub
        self._columns = columns
        self._cuts = cuts
        self._params = params
        self._alike = frozenset(sub.alike)

    def found(self, X: Floats, cuts: SplitThresholdCuts) -> list[GroupCut]:
        """Return groups of classes that take nearly the same features at X, each split at its best.

        Groups are split on features that `cuts`, those of their single classes, are split on.
        """
        k, n = self._sub.n_per_class, self._sub.n_free
        always = np.ones(self._cuts.A.shape[1])
        diagonal = np.clip(np.diagonal(X).astype(np.float64), 0.0, 1.0)
        always[:n] = diagonal
        share = shares(self._columns.order, always, k)
        found = []
        crowded = crowded_groups(share, always, k, self._params.overlap)
        for classes in [*crowded, *self._sub.alike]:
            candidates = [self._group(classes, [always])]
            sigma = candidates[0].sigma
            for i in self._features(classes, cuts, share, diagonal):
                weights = _apart(X, diagonal, always, i)
                candidates.append(self._group(classes, weights, sigma, i))
            best = min(map(self._cuts.cut, candidates), key=lambda cut: cut.at(X)).group
            i = best.feature
            weights = [always] if i < 0 else _apart(X, diagonal, always, i)
            found.append(self._cuts.cut(self._polished(best, weights)))
        return found

    def _features(
        self, classes: tuple[int, ...], cuts: SplitThresholdCuts, share: Vector, diagonal: Vector
    ) -> list[int]:
        """Return features to split a group on.

        First come those that its single classes are split on, most used first, then those that the
        classes take and that are not always selected.
        """
        wish = share[list(classes), : len(diagonal)].sum(axis=0) * (1.0 - diagonal)
        for c in classes:
            first, end = np.searchsorted(cuts.classes, [c, c + 1])
            split = cuts.feature[first:end] >= 0
            used = cuts.feature[first:end][split]
            np.add.at(wish, used, len(classes) * (1.0 + cuts.shares[first:end][split]))
        lowest = self._params.lowest_diagonal
        wish[(diagonal <= lowest) | (diagonal >= 1.0 - lowest)] = 0.0
        order = np.argsort(-wish, kind="stable")[: self._params.splits]
        return [int(i) for i in order if wish[i] > 0.0]

    def _group(
        self,
        classes: tuple[int, ...],
        weights: list[Vector],
        sigma: float | None = None,
        feature: int = -1,
    ) -> Group:
        """Return a group with fair multipliers for columns selected by their weights.

        There are two of these where it is split on a feature: without and with that.
        """
        if sigma is None:
            sigma = self._params.first_sigma * float(np.abs(self._cuts.A[list(classes)]).max())
        found: list[tuple[Vector, float]] = []
        for weight in weights:
            start = common_thresholds(self._columns, weight, list(classes))
            found.append(self._improved(classes, weight, start, sigma, self._params.steps))
        (thresholds, below), (given, above) = found[0], found[-1]
        if feature < 0:
            return Group(classes, 0.0, thresholds, below)
        return Group(classes, 0.0, thresholds, below, feature, given, above)

    def _polished(self, group: Group, weights: list[Vector]) -> Group:
        """Return a group with better multipliers."""
        steps = self._params.last_steps
        start = group.thresholds, group.sigma
        thresholds, sigma = self._improved(group.classes, weights[0], *start, steps)
        group = group._replace(thresholds=thresholds, sigma=sigma)
        if group.feature < 0:
            return group
        start = group.given, group.given_sigma
        given, given_sigma = self._improved(group.classes, weights[1], *start, steps)
        return group._replace(given=given, given_sigma=given_sigma)

    def _improved(
        self,
        classes: tuple[int, ...],
        weight: Vector,
        thresholds: Vector,
        sigma: float,
        steps: int,
    ) -> tuple[Vector, float]:
        """Return better multipliers for columns selected by their weights."""
        k, chosen = self._sub.n_per_class, list(classes)
        rows = self._cuts.A[chosen]
        if classes in self._alike:
            return pair_multipliers(rows, weight, k)
        # Only columns that some class might take, its best 2k, have a say.
        far = self._columns._replace(n_per_class=2 * k)
        reached = rows >= common_thresholds(far, weight, chosen)[:, None]
        used = np.flatnonzero(reached.any(axis=0) & (weight > 0.0))
        rows, weight = np.ascontiguousarray(rows[:, used]), weight[used]
        gains = np.maximum(rows - thresholds[:, None], 0.0).sum(axis=0)
        hope = self._params.hope * abs(float(k * thresholds.sum() + gains @ weight))
        found = improve_multipliers(rows, weight, k, thresholds, sigma, hope, steps)
        best, best_sigma, _ = found
        # Where no distinct sets fit into the weights the value falls without end, and multipliers
        # grow until nothing but their rounding is left.
        largest = self._params.largest_multiplier * float(np.abs(self._cuts.A[chosen]).max())
        if max(best_sigma, float(np.abs(best).max())) > largest:
            return thresholds, sigma
        return best, best_sigma


def _apart(X: Floats, diagonal: Vector, always: Vector, i: int) -> list[Vector]:
    """Return how much columns are selected where feature i is not, and where it is."""
    n, own = len(diagonal), diagonal[i]
    left_out, selected = always.copy(), always.copy()
    left_out[:n] = np.clip((diagonal - X[i]) / (1.0 - own), 0.0, 1.0)
    selected[:n] = np.clip(X[i] / own, 0.0, 1.0)
    left_out[i], selected[i] = 0.0, 1.0
    return [left_out, selected]
