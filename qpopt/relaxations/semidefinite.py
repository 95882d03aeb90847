"""The semidefinite bound: doubly non-negative, with split thresholds and cuts on X."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.group_cuts import Group
from qpopt.cuts.quadric import QuadricParams
from qpopt.cuts.split_thresholds import SplitThresholdCuts
from qpopt.cuts.thresholds import ThresholdParams, Thresholds
from qpopt.problem.subproblem import Floats, Indices, Subproblem
from qpopt.relaxations.admm import Admm, AdmmParams, uniform
from qpopt.relaxations.eigenvalues import EPS, eigenvalue_deficit
from qpopt.relaxations.extension import ExtensionParams, extend, prices, settle
from qpopt.relaxations.feature_bounds import FeatureBounds
from qpopt.relaxations.fixing import FeatureFixing, FixedFeatures, FixingParams
from qpopt.relaxations.safe_bounds import row_bound, rows_value
from qpopt.search.enumeration import Relaxation


@dataclass(frozen=True)
class SemidefiniteParams:
    """How the semidefinite bound is improved.

    Parameters
    ----------
    steps_per_round
        Steps between two looks for better thresholds.
    rounds_per_cuts
        Rounds between two looks for cuts on X.
    rounds_before_groups
        Rounds before overlap cuts are looked for: X must have settled.
    steps_to_settle
        Steps after an extension with the same thresholds: X swings, and thresholds would follow it.
    first_share
        The share of the first overlap cuts; what it should be shows in the steps after that.
    admm, extension, thresholds, quadric, fixing
        Those of the iteration, of its extension, of both kinds of cuts, and of what decides
        features.
    """

    steps_per_round: int = 25
    rounds_per_cuts: int = 2
    rounds_before_groups: int = 12
    steps_to_settle: int = 8
    first_share: float = 0.3
    admm: AdmmParams = AdmmParams()
    extension: ExtensionParams = ExtensionParams()
    thresholds: ThresholdParams = ThresholdParams()
    quadric: QuadricParams = QuadricParams()
    fixing: FixingParams = FixingParams()


class _Proven(NamedTuple):
    """Z ≤ offset + sᵀ(Q − B)s for every selection s; B + deficit · I ⪰ 0."""

    offset: float
    Q: NDArray[np.float64]
    B: NDArray[np.float64]
    deficit: float


class SemidefiniteRelaxation:
    """An iterate of the semidefinite bound of a subproblem; every iterate proves a value.

    Parameters
    ----------
    sub
        The problem, with at least one feature to select and as many free ones.
    cuts
        Whether to add cuts on X.
    params
        How to improve it.
    """

    def __init__(
        self,
        sub: Subproblem,
        *,
        cuts: bool = True,
        params: SemidefiniteParams = SemidefiniteParams(),
    ) -> None:
        self.sub = sub
        self.params = params
        self.with_cuts = cuts
        self.rounds = 0
        self._rounds_since_change = 0
        self._deficit = 0.0
        self._thresholds = Thresholds(sub, params=params.thresholds)
        m = sub.n_select
        self._thresholds.update(uniform(sub.n_free, m), 1.0)
        self.admm = Admm(self.objective(), m, params=params.admm) if m > 1 else None

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

    def round(self, steps: int | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Improve the iterate: new thresholds, from time to time new cuts, then some steps.

        Parameters
        ----------
        steps
            How many; by default as the params say.
        stop
            Asked before every step; when it says so, the round ends early.
        """
        if self.admm is None:
            return
        params = self.params
        steps = params.steps_per_round if steps is None else steps
        if self.rounds:
            since = self._rounds_since_change
            groups = since >= params.rounds_before_groups
            self._thresholds.update(self.X, params.first_share, groups=groups)
            renew = self.with_cuts and (since + 1) % params.rounds_per_cuts == 0
            cuts = self.admm.cuts.renewed(self.X, params.quadric) if renew else None
            self.admm.set_objective(self.objective(), cuts)
        for _ in range(steps):
            if stop():
                break
            self.admm.step(self._thresholds)
        self.rounds += 1
        self._rounds_since_change += 1

    def estimate(self) -> float:
        """Return what the iterate proves but for the rounding in S: cheap, not rigorous."""
        M, offset, B = self._parts()
        return offset + rows_value(M + B, self.sub.n_select)

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
        proven, m = self._proven(), self.sub.n_select
        bound = row_bound(proven.Q, m)
        shift = proven.offset + m * proven.deficit
        found = self._fixing(proven).unselectable(limit - proven.offset, stop)
        return FeatureBounds(
            bound.value + shift, bound.with_feature + shift, bound.without_feature + shift
        ), found

    def values_with(
        self, stop: Callable[[], bool] = lambda: False
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return, for every free feature, a bound of the solutions that contain it, and its point.

        Parameters
        ----------
        stop
            Asked from time to time; when it says so, what is proven until then is returned.
        """
        proven = self._proven()
        values, points = self._fixing(proven).values(stop)
        return values + proven.offset, points

    def relaxation(self) -> Relaxation:
        """Return what the iterate proves of every single selection."""
        proven = self._proven()
        return Relaxation(proven.offset + self.sub.n_select * proven.deficit, proven.Q)

    def _parts(self) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """Return M, offset and B as in `qpopt.relaxations.safe_bounds`, but for rounding."""
        C = self.objective()
        if self.admm is None:
            return C, self.sub.constant, np.zeros_like(C)
        offset = self.sub.constant + self.sub.n_select * self.admm.t + self.admm.cuts.paid
        return -self.admm.slack(C), offset, self.admm.symmetric_S().astype(np.float64)

    def _proven(self) -> _Proven:
        M, offset, B = self._parts()
        # What adding up M can have lost: some thousand terms at the most, each rounded.
        size = abs(offset) + self.sub.n_select**2 * float(np.abs(M).max()) + self._thresholds.size
        rounding = 64 * self.sub.n_classes * EPS * size
        self._deficit = eigenvalue_deficit(B, self._deficit)
        return _Proven(offset + rounding, M + B, B, self._deficit)

    def _fixing(self, proven: _Proven) -> FeatureFixing:
        diagonal = np.diagonal(self.X).astype(np.float64)
        _, Q, B, deficit = proven
        return FeatureFixing(Q, B, deficit, self.sub.n_select, diagonal, self.params.fixing)

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
        self._renumber(sub, position, included)
        if self.admm is None or sub.n_select < 2:
            self.admm = None
            return
        self.admm.n_select = sub.n_select
        self.admm.restrict(position, included, self.objective())

    def extend(self, sub: Subproblem, stop: Callable[[], bool] = lambda: False) -> None:
        """Go on with a problem that has more free features, keeping the iterate as a start.

        Parameters
        ----------
        sub
            The problem.
        stop
            Asked before every step in which the new features settle.
        """
        positions: Indices = np.searchsorted(sub.free, self.sub.free)
        self._renumber(sub, positions, positions[:0])
        self._rounds_since_change = 0
        if self.admm is not None:
            params = self.params.extension
            new = extend(self.admm, positions, self.objective(), params)
            settle(self.admm, new, self.params.steps_to_settle, stop, params)

    def reduced_costs(self, sub: Subproblem) -> NDArray[np.float64]:
        """Return what features of a larger problem could add at the most, about; −inf for ours."""
        position: Indices = np.searchsorted(sub.free, self.sub.free)
        larger = copy(self)
        larger._renumber(sub, position, position[:0])
        C = larger.objective()
        result = np.full(sub.n_free, -np.inf)
        if self.admm is None:
            return np.diagonal(C).copy()
        new = np.setdiff1d(np.arange(sub.n_free), position)
        found = prices(self.admm, C[np.ix_(new, position)], self.params.extension)
        result[new] = found.values + np.diagonal(C)[new] - self.admm.t
        return result

    def _renumber(self, sub: Subproblem, position: Indices, included: Indices) -> None:
        self.sub = sub
        self._deficit = 0.0
        self._thresholds = self._thresholds.renumbered(sub, position, included)
