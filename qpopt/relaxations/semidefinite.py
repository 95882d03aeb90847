"""The semidefinite bound: doubly non-negative, with split thresholds and cuts on X."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from math import inf

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.split_thresholds import SplitThresholdCuts
from qpopt.cuts.thresholds import Group, Thresholds
from qpopt.problem.subproblem import Floats, Indices, Subproblem
from qpopt.relaxations.admm import Admm
from qpopt.relaxations.feature_bounds import FeatureBounds
from qpopt.relaxations.fixing import FeatureFixing, FixedFeatures
from qpopt.relaxations.safe_bounds import (
    EPS,
    eigenvalue_deficit,
    row_bound,
    rows_value,
)
from qpopt.search.enumeration import Relaxation

STEPS_PER_ROUND = 25
ROUNDS_PER_CUTS = 2
ROUNDS_BEFORE_GROUPS = 3
STEPS_TO_SETTLE = 30
"""Steps after an extension with the same thresholds: X swings, and thresholds would follow it."""
LEAST_WEIGHT = 1 / 12
"""Smallest share of new overlap cuts in the average."""


class SemidefiniteRelaxation:
    """An iterate of the semidefinite bound of a subproblem; every iterate proves a value.

    Parameters
    ----------
    sub
        The problem, with at least one feature to select and as many free ones.
    cuts
        Whether to add cuts on X.
    """

    def __init__(self, sub: Subproblem, *, cuts: bool = True) -> None:
        self.sub = sub
        self.with_cuts = cuts
        self.rounds = 0
        self._rounds_since_change = 0
        self._settling = 0
        self._thresholds = Thresholds(sub)
        n, m = sub.n_free, sub.n_select
        X = np.full((n, n), m * (m - 1) / max(n * (n - 1), 1))
        np.fill_diagonal(X, m / n)
        self._thresholds.update(X, 1.0)
        self.admm = Admm(self.objective(), m) if m > 1 else None

    @property
    def X(self) -> Floats:
        """The current relaxed solution: X_ij is how much i and j are selected together."""
        if self.admm is None:
            return np.eye(self.sub.n_free) / self.sub.n_free
        return self.admm.X

    @property
    def class_cuts(self) -> SplitThresholdCuts:
        """The cuts on what single classes gain, as far as they have a share."""
        return self._thresholds.splits.cuts.useful()

    @property
    def groups(self) -> list[Group]:
        """The cuts on what several classes gain together."""
        return self._thresholds.groups

    def objective(self) -> NDArray[np.float64]:
        """Return C with Z − constant ≤ sᵀCs for every selection s of free features."""
        C = self._thresholds.matrix() - 0.5 * self.sub.R
        C[np.diag_indices_from(C)] += self.sub.b
        return C

    def round(self, steps: int = STEPS_PER_ROUND, stop: Callable[[], bool] = lambda: False) -> None:
        """Improve the iterate: new thresholds, from time to time new cuts, then some steps.

        Parameters
        ----------
        steps
            How many.
        stop
            Asked before every step; when it says so, the round ends early.
        """
        if self.admm is None:
            return
        if self.rounds and self._settling <= 0:
            self._thresholds.update(
                self.X,
                max(2.0 / (self._rounds_since_change + 4), LEAST_WEIGHT),
                groups=self._rounds_since_change >= ROUNDS_BEFORE_GROUPS,
            )
            renew = (
                self.with_cuts
                and self._rounds_since_change % ROUNDS_PER_CUTS == ROUNDS_PER_CUTS - 1
            )
            cuts = self.admm.cuts.renewed(self.X) if renew else None
            self.admm.set_objective(self.objective(), cuts)
        moving = self._thresholds if self._settling <= 0 else None
        for _ in range(steps):
            if stop():
                break
            self.admm.step(moving)
        self._settling -= steps
        self.rounds += 1
        self._rounds_since_change += 1

    def certificate_parts(self) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """Return (M, offset, B): Z ≤ offset + sᵀMs, and B as `safe` uses it."""
        C = self.objective()
        if self.admm is None:
            return C, self.sub.constant, np.zeros_like(C)
        B = self.admm.symmetric_S().astype(np.float64)
        M = -self.admm.slack(C)
        offset = self.sub.constant + self.sub.n_select * self.admm.t
        return M, offset + self.admm.cuts.paid, B

    def estimate(self) -> float:
        """Return what the iterate proves but for the rounding in S: cheap, not rigorous."""
        M, offset, B = self.certificate_parts()
        return offset + rows_value(M + B, self.sub.n_select)

    def value(self) -> float:
        """Return what the iterate proves."""
        return self.features().value

    def features(self) -> FeatureBounds:
        """Return what the iterate proves, for all selections and with any one feature decided."""
        return self.proof()[0]

    def proof(
        self, limit: float = -inf, stop: Callable[[], bool] = lambda: False
    ) -> tuple[FeatureBounds, FixedFeatures]:
        """Return what the iterate proves, and the features that are in no solution above a limit.

        Parameters
        ----------
        limit
            The Z that only better solutions exceed.
        stop
            Asked from time to time while features are looked for; when it says so, those found
            until then are returned.

        Returns
        -------
        tuple
            The bound, for all selections and with any one feature decided; and the features, by
            their positions, with a point each: more than the bound with a feature tells.
        """
        M, offset, B = self.certificate_parts()
        Q, m = M + B, self.sub.n_select
        deficit, rounding = eigenvalue_deficit(B), self._rounding(M, offset)
        bound = row_bound(Q, m)
        shift = offset + m * deficit + rounding
        diagonal = np.diagonal(self.X).astype(np.float64)
        forcing = FeatureFixing(Q, B, deficit, m, diagonal)
        found = forcing.unselectable(limit - offset - rounding, stop)
        return FeatureBounds(
            bound.value + shift, bound.with_feature + shift, bound.without_feature + shift
        ), found

    def values_with(self, stop: Callable[[], bool] = lambda: False) -> NDArray[np.float64]:
        """Return, for every free feature, a bound of the solutions that contain it.

        Parameters
        ----------
        stop
            Asked from time to time; when it says so, what is proven until then is returned.
        """
        M, offset, B = self.certificate_parts()
        diagonal = np.diagonal(self.X).astype(np.float64)
        forcing = FeatureFixing(M + B, B, eigenvalue_deficit(B), self.sub.n_select, diagonal)
        return forcing.values(stop) + offset + self._rounding(M, offset)

    def relaxation(self) -> Relaxation:
        """Return what the iterate proves of every single selection."""
        M, offset, B = self.certificate_parts()
        paid = self.sub.n_select * eigenvalue_deficit(B) + self._rounding(M, offset)
        return Relaxation(offset + paid, M + B)

    def _rounding(self, M: NDArray[np.float64], offset: float) -> float:
        """Return what adding up M can have lost: some thousand terms at the most, each rounded."""
        size = abs(offset) + self.sub.n_select**2 * float(np.abs(M).max())
        return 64 * self.sub.n_classes * EPS * size

    def copy(self) -> SemidefiniteRelaxation:
        """Return an iterate that goes its own way from here."""
        twin = copy(self)
        twin._thresholds = self._thresholds.copy()
        twin.admm = None if self.admm is None else self.admm.copy()
        return twin

    def restrict(self, sub: Subproblem) -> None:
        """Go on with a problem that has fewer free features, keeping the iterate as a start."""
        position = np.full(self.sub.n_free, -1)
        position[np.isin(self.sub.free, sub.free)] = np.arange(sub.n_free)
        included = np.flatnonzero(np.isin(self.sub.free, sub.included))
        cuts = self._thresholds.splits.cuts.renumbered(position, included)
        self.sub = sub
        self._thresholds = Thresholds(sub, cuts, self._thresholds.groups)
        if self.admm is None or sub.n_select < 2:
            self.admm = None
            return
        self.admm.n_select = sub.n_select
        self.admm.restrict(position, included, self.objective())

    def extend(self, sub: Subproblem) -> None:
        """Go on with a problem that has more free features, keeping the iterate as a start."""
        positions: Indices = np.searchsorted(sub.free, self.sub.free)
        cuts = self._thresholds.splits.cuts.renumbered(positions, positions[:0])
        self.sub = sub
        self._thresholds = Thresholds(sub, cuts, self._thresholds.groups)
        self._settling = STEPS_TO_SETTLE
        if self.admm is not None:
            self.admm.extend(positions, self.objective())
