"""Split threshold cuts: one threshold where a feature is selected, another where it is not.

For a class c, a feature i and any thresholds τ, τ'

    top_k(c) ≤ s_i [kτ + Σ_d (a_cd − τ)⁺ s_d] + (1 − s_i) [kτ' + Σ_d (a_cd − τ')⁺ s_d],

which is linear in X = ssᵀ. With τ = τ' it is the plain threshold cut; the feature that tells most
about which of its columns a class will get makes it much stronger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels import split_thresholds as kernels
from qpopt.problem.subproblem import Floats, Indices, Subproblem

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class SplitParams:
    """How split threshold cuts are found and weighed.

    Parameters
    ----------
    new_per_class
        The most cuts that a class gets at once, the strongest ones.
    lowest_diagonal
        Features selected less than this, or left out less, make no split worth having.
    most_idle
        For how many rounds a cut is kept that has no share.
    sweeps
        How often the shares are improved in one step.
    power_steps, caution
        Steps of the power iteration that tells how strongly shares act, and the factor on what it
        tells, which is a little too small.
    """

    new_per_class: int = 2
    lowest_diagonal: float = 0.01
    most_idle: int = 4
    sweeps: int = 3
    power_steps: int = 8
    caution: float = 1.2


class ClassColumns(NamedTuple):
    """The columns that every class chooses from, best first.

    Parameters
    ----------
    order, values
        The columns of every class by falling similarity, free features before included ones, and
        the similarities.
    n_free, n_select, n_per_class
        Those of the subproblem.
    """

    order: NDArray[np.int32]
    values: Vector
    n_free: int
    n_select: int
    n_per_class: int


def class_columns(sub: Subproblem) -> ClassColumns:
    """Sort the columns of every class."""
    columns = sub.columns()
    order = np.argsort(-columns, axis=1, kind="stable").astype(np.int32)
    values = np.take_along_axis(columns, order, axis=1)
    return ClassColumns(order, values, sub.n_free, sub.n_select, sub.n_per_class)


def common_thresholds(
    columns: ClassColumns, weight: Vector, classes: Sequence[int] | None = None
) -> Vector:
    """Return the best threshold of every class where every column is selected by its weight.

    Parameters
    ----------
    columns
        The columns of all classes.
    weight
        How much every column is selected.
    classes
        The classes in question; by default all.
    """
    chosen: Any = slice(None) if classes is None else classes
    values = columns.values[chosen]
    reached = np.cumsum(weight[columns.order[chosen]], axis=1) >= columns.n_per_class
    reached[:, -1] = True
    places = reached.argmax(axis=1)
    thresholds: Vector = values[np.arange(len(places)), places]
    return thresholds


class SplitThresholdCuts(NamedTuple):
    """Cuts and their shares, ordered by class; every class has at least one.

    Parameters
    ----------
    classes
        The class of every cut.
    feature
        The feature that it is split on, by its position among the free ones; −1 for none.
    given, otherwise
        The thresholds where the feature is selected and where it is not; `otherwise` is the only
        one of a cut without a feature.
    shares
        The shares of the cuts, ≥ 0; those of one class add up to 1.
    """

    classes: Indices
    feature: Indices
    given: Vector
    otherwise: Vector
    shares: Vector

    def chosen(self, which: NDArray[np.bool_] | Indices) -> SplitThresholdCuts:
        """Return some of the cuts."""
        return SplitThresholdCuts._make(part[which] for part in self)

    def useful(self) -> SplitThresholdCuts:
        """Return the cuts with a share."""
        return self.chosen(self.shares > 0.0)

    def renumbered(self, position: Indices, included: Indices) -> SplitThresholdCuts:
        """Return what the cuts say once features have other numbers, or are decided.

        Parameters
        ----------
        position
            For every present feature its new number, or −1 where it is decided.
        included
            The present features that are decided by selecting them.
        """
        selected = np.isin(self.feature, included)
        moved = np.where(self.feature >= 0, position[self.feature], -1)
        return self._replace(
            feature=moved, otherwise=np.where(selected, self.given, self.otherwise)
        )


def no_cuts() -> SplitThresholdCuts:
    """Return cuts of no class."""
    nothing, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
    return SplitThresholdCuts(nothing, nothing, zero, zero, zero)


class SplitThresholds:
    """Split threshold cuts of all classes, with shares that are improved together with X.

    Parameters
    ----------
    sub
        The problem whose classes are bounded.
    cuts
        Cuts to start with; without any, `renew` first.
    params
        How cuts are found and weighed.
    """

    def __init__(
        self,
        sub: Subproblem,
        cuts: SplitThresholdCuts | None = None,
        params: SplitParams = SplitParams(),
    ) -> None:
        self.columns = class_columns(sub)
        self._params = params
        self.cuts = no_cuts() if cuts is None else cuts
        self._idle: Indices = np.zeros(len(self.cuts.classes), dtype=np.int64)
        self._curvatures: Vector | None = None

    @property
    def _start(self) -> Indices:
        return np.searchsorted(self.cuts.classes, np.arange(len(self.columns.order) + 1))

    def renew(self, X: Floats) -> Vector:
        """Add the strongest cuts at X, and forget those that have had no share for long.

        A new cut has no share until a step gives it one, but for the first cut of a class. Return
        what the strongest cut of every class gives at X.
        """
        cuts, params = self.cuts, self._params
        feature, given, otherwise, gains = kernels.best_splits(
            self.columns, X, params.new_per_class, params.lowest_diagonal
        )
        idle = np.where(cuts.shares > 0.0, 0, self._idle + 1)
        shares = np.zeros(gains.shape)
        before: Vector = np.full(len(gains), np.inf)
        if len(cuts.classes):
            before = np.add.reduceat(cuts.shares * self.at(X), self._start[:-1])
        else:
            shares[:, 0] = 1.0
        new = gains < before[:, None]
        # A cut without a split stands in both places where no split is stronger.
        new[:, 1:] &= feature[:, 1:] >= 0
        found = SplitThresholdCuts(
            np.nonzero(new)[0], feature[new], given[new], otherwise[new], shares[new]
        )
        kept = idle < params.most_idle
        self.cuts, self._idle = _merged(cuts.chosen(kept), found, idle[kept])
        self._curvatures = None
        strongest: Vector = gains[:, 0]
        return strongest

    def at(self, M: Floats) -> Vector:
        """Return what every cut gives at M."""
        result: Vector = kernels.split_values(self.columns, self.cuts, M)
        return result

    def add_to(self, M: Floats, factors: Vector) -> None:
        """Add the symmetric matrices of the cuts, each times its factor, to M."""
        kernels.add_splits(self.columns, self.cuts, factors, M)

    def step(self, residual: Floats, left: Vector, sweeps: int | None = None) -> Vector:
        """Move the shares so that a residual becomes smaller; return by how much each has changed.

        Parameters
        ----------
        residual
            What the shares are to make smaller; changed.
        left
            How much of every class these cuts stand for.
        sweeps
            How often to go through the classes; by default as the params say.
        """
        cuts, params, start = self.cuts, self._params, self._start
        if self._curvatures is None:
            steps = params.power_steps
            self._curvatures = kernels.share_curvatures(self.columns, cuts, start, steps)
        lengths = 1.0 / np.maximum(params.caution * self._curvatures * left**2, 1e-12)
        shares = cuts.shares.copy()
        for _ in range(params.sweeps if sweeps is None else sweeps):
            kernels.sweep_shares(self.columns, cuts, start, left, lengths, shares, residual)
        self.cuts = cuts._replace(shares=shares)
        change: Vector = shares - cuts.shares
        return change


def _merged(
    kept: SplitThresholdCuts, found: SplitThresholdCuts, idle: Indices
) -> tuple[SplitThresholdCuts, Indices]:
    """Return both, ordered by class, with equal cuts made one; and for how long each was idle."""
    both = SplitThresholdCuts._make(map(np.concatenate, zip(kept, found, strict=True)))
    waited = np.concatenate([idle, np.zeros(len(found.classes), dtype=np.int64)])
    order = np.lexsort((both.otherwise, both.given, both.feature, both.classes))
    both, waited = both.chosen(order), waited[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any([np.diff(part) != 0 for part in both[:-1]], axis=0)
    shares = np.bincount(np.cumsum(first) - 1, weights=both.shares)
    # A cut that is found again waits anew.
    return (
        both.chosen(first)._replace(shares=shares.astype(np.float64)),
        np.minimum.reduceat(waited, np.flatnonzero(first)),
    )
