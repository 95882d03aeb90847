"""Split threshold cuts: one threshold where a feature is selected, another where it is not.

For a class c, a feature i and any thresholds τ, τ'

    top_k(c) ≤ s_i [kτ + Σ_d (a_cd − τ)⁺ s_d] + (1 − s_i) [kτ' + Σ_d (a_cd − τ')⁺ s_d],

which is linear in X = ssᵀ. With τ = τ' it is the plain threshold cut; the feature that tells most
about which of its columns a class will get makes it much stronger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.split_thresholds import (
    add_splits,
    best_splits,
    share_curvatures,
    split_values,
    sweep_shares,
)
from qpopt.problem.subproblem import Floats, Indices, Subproblem

Vector = NDArray[np.float64]

NEW_PER_CLASS = 2
LOWEST_DIAGONAL = 0.01
"""Features selected less than this, or left out less, make no split worth having."""

MOST_IDLE = 4
"""For how many rounds a cut is kept that has no share."""

SWEEPS = 3
"""How often the shares are improved in one step."""

POWER_STEPS = 8
CAUTION = 1.2
"""Factor on the estimates of the largest eigenvalues, which are a little too small."""


@dataclass(frozen=True, eq=False)
class SplitThresholdCuts:
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

    def __len__(self) -> int:
        return len(self.classes)

    def chosen(self, which: NDArray[np.bool_] | Indices) -> SplitThresholdCuts:
        """Return some of the cuts."""
        return SplitThresholdCuts(
            self.classes[which],
            self.feature[which],
            self.given[which],
            self.otherwise[which],
            self.shares[which],
        )

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
        return replace(
            self, feature=moved, otherwise=np.where(selected, self.given, self.otherwise)
        )


class SplitThresholds:
    """Split threshold cuts of all classes, with shares that are improved together with X.

    Parameters
    ----------
    sub
        The problem whose classes are bounded.
    cuts
        Cuts to start with; without any, `renew` first.
    """

    def __init__(self, sub: Subproblem, cuts: SplitThresholdCuts | None = None) -> None:
        nothing, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
        self.cuts = SplitThresholdCuts(nothing, nothing, zero, zero, zero) if cuts is None else cuts
        self._sub = sub
        columns = sub.columns()
        order = np.argsort(-columns, axis=1, kind="stable").astype(np.int32)
        self._sorted = (order, np.take_along_axis(columns, order, axis=1))
        self._curvatures: Vector | None = None
        self._idle: Indices = np.zeros(len(self.cuts), dtype=np.int64)
        self._count_starts()

    @property
    def order(self) -> NDArray[np.int32]:
        """The columns of every class by falling similarity."""
        return self._sorted[0]

    @property
    def values(self) -> Vector:
        """The similarities in that order."""
        return self._sorted[1]

    def copy(self) -> SplitThresholds:
        """Return cuts that go their own way from here."""
        twin = object.__new__(SplitThresholds)
        twin.__dict__.update(self.__dict__)
        return twin

    def renew(self, X: Floats) -> Vector:
        """Add the strongest cuts at X, and forget those that have had no share for long.

        A new cut has no share until a step gives it one, but for the first cut of a class.

        Parameters
        ----------
        X
            The relaxed solution.

        Returns
        -------
        NDArray
            What the strongest cut of every class gives at X.
        """
        sub, cuts = self._sub, self.cuts
        shape = (sub.n_classes, NEW_PER_CLASS)
        feature = np.zeros(shape, dtype=np.int64)
        given, otherwise, gains = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        best_splits(
            *self._sorted, X, sub.n_per_class, LOWEST_DIAGONAL,
            feature, given, otherwise, gains,
        )  # fmt: skip
        idle = np.where(cuts.shares > 0.0, 0, self._idle + 1)
        before: Vector = np.full(sub.n_classes, np.inf)
        if len(cuts):
            before = np.add.reduceat(cuts.shares * self.at(X), self._start[:-1])
        new = gains < before[:, None]
        # A cut without a split stands in both places where no split is stronger.
        new[:, 1:] &= feature[:, 1:] >= 0
        shares = np.zeros(shape)
        if not len(cuts):
            shares[:, 0] = 1.0
        found = SplitThresholdCuts(
            np.nonzero(new)[0], feature[new], given[new], otherwise[new], shares[new]
        )
        kept = idle < MOST_IDLE
        self.cuts, self._idle = _merged(cuts.chosen(kept), found, idle[kept])
        self._count_starts()
        strongest: Vector = gains[:, 0]
        return strongest

    def at(self, M: Floats) -> Vector:
        """Return what every cut gives at M."""
        result = np.zeros(len(self.cuts))
        split_values(*self._sorted, *self._problem(), M, result)
        return result

    def add_to(self, M: Floats, factors: Vector) -> None:
        """Add the symmetric matrices of the cuts, each times its factor, to M."""
        add_splits(*self._sorted, *self._problem(), factors, M)

    def step(self, residual: Floats, left: Vector, sweeps: int = SWEEPS) -> Vector:
        """Move the shares so that a residual becomes smaller; return by how much each has changed.

        Parameters
        ----------
        residual
            What the shares are to make smaller; changed.
        left
            How much of every class these cuts stand for.
        sweeps
            How often to go through the classes.
        """
        cuts = self.cuts
        curvature = self._curvature() * left**2
        lengths = 1.0 / np.maximum(CAUTION * curvature, 1e-12)
        shares = cuts.shares.copy()
        m, k, _, *problem = self._problem()
        for _ in range(sweeps):
            sweep_shares(
                *self._sorted, m, k, *problem, self._start, left, lengths, shares, residual
            )
        self.cuts = replace(cuts, shares=shares)
        change: Vector = shares - cuts.shares
        return change

    def _curvature(self) -> Vector:
        """Return, for every class, how strongly its shares act; found anew for new cuts only."""
        if self._curvatures is None:
            n = self._sub.n_free
            self._curvatures = np.zeros(self._sub.n_classes)
            m, k, _, *problem = self._problem()
            share_curvatures(
                *self._sorted, m, k, *problem, self._start, POWER_STEPS,
                np.zeros((n, n), dtype=np.float32), self._curvatures,
            )  # fmt: skip
        return self._curvatures

    def _problem(self) -> tuple[int, int, Indices, Indices, Vector, Vector]:
        cuts = self.cuts
        m, k = self._sub.n_select, self._sub.n_per_class
        return m, k, cuts.classes, cuts.feature, cuts.given, cuts.otherwise

    def _count_starts(self) -> None:
        """Note where the cuts of every class begin; step lengths have to be found anew."""
        counts = np.bincount(self.cuts.classes, minlength=self._sub.n_classes)
        self._start = np.concatenate([[0], np.cumsum(counts)])
        self._curvatures = None


def _merged(
    kept: SplitThresholdCuts, found: SplitThresholdCuts, idle: Indices
) -> tuple[SplitThresholdCuts, Indices]:
    """Return both, ordered by class, with equal cuts made one; and for how long each was idle."""
    both = SplitThresholdCuts(
        np.concatenate([kept.classes, found.classes]),
        np.concatenate([kept.feature, found.feature]),
        np.concatenate([kept.given, found.given]),
        np.concatenate([kept.otherwise, found.otherwise]),
        np.concatenate([kept.shares, found.shares]),
    )
    waited = np.concatenate([idle, np.zeros(len(found), dtype=np.int64)])
    order = np.lexsort((both.otherwise, both.given, both.feature, both.classes))
    both, waited = both.chosen(order), waited[order]
    same = np.zeros(len(both), dtype=bool)
    same[1:] = (
        (np.diff(both.classes) == 0)
        & (np.diff(both.feature) == 0)
        & (np.diff(both.given) == 0)
        & (np.diff(both.otherwise) == 0)
    )
    shares = np.bincount(np.cumsum(~same) - 1, weights=both.shares).astype(np.float64)
    # A cut that is found again waits anew.
    shortest = np.minimum.reduceat(waited, np.flatnonzero(~same)) if len(both) else waited
    return replace(both.chosen(~same), shares=shares), shortest
