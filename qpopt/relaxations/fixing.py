"""FeatureFixing: what selections with a certain feature reach at the most, by the curvature of B.

Let sᵀMs = sᵀQs − sᵀBs with Q = M + B and B + δI ⪰ 0, as in `qpopt.relaxations.safe_bounds`. Rows
alone give B away. But for any point p ≥ 0

    −sᵀBs ≤ pᵀBp − 2(Bp)ᵀs + δ(n_select + ‖p‖²),

and if s contains d, then sᵀQs ≤ Q_dd + Σ_{j∈s, j≠d} (2Q_dj + q_j), q_j being the diagonal of row j
and its n_select − 2 largest other entries. Together that is linear in s: the n_select − 1 largest
coefficients bound every selection that contains d. The best p is the relaxed selection that
maximises the same with its own curvature; conditional gradients come near it, for many features at
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qpopt.problem.subproblem import Indices
from qpopt.relaxations.eigenvalues import EPS

Matrix = NDArray[Any]


@dataclass(frozen=True)
class FixingParams:
    """How long points are improved.

    Parameters
    ----------
    steps
        Conditional gradients; most features are decided, or known to be undecidable, after a few.
    steps_for_values
        The same where every feature is of interest, whatever it may reach.
    lowest_diagonal
        What is selected less than this is not selected in the first point.
    """

    steps: int = 100
    steps_for_values: int = 30
    lowest_diagonal: float = 1e-4


class FixedFeatures(NamedTuple):
    """Features that are in no selection above the limit, and the point that proves each."""

    features: Indices
    points: NDArray[np.float32]


class FeatureFixing:
    """What is known of sᵀQs − sᵀBs over selections s that contain a certain feature.

    Parameters
    ----------
    Q, B
        Symmetric matrices.
    deficit
        δ ≥ 0 with B + δI ⪰ 0.
    n_select
        The number of features in a selection.
    diagonal
        How much the relaxed solution selects every feature: where points start.
    params
        How long to look.
    """

    def __init__(
        self,
        Q: NDArray[np.float64],
        B: NDArray[np.float64],
        deficit: float,
        n_select: int,
        diagonal: NDArray[np.float64],
        params: FixingParams = FixingParams(),
    ) -> None:
        self._Q, self._B, self._deficit = Q, B, deficit
        self._n_select, self._diagonal = n_select, diagonal
        self._params = params
        self._trivial = not 1 < n_select < len(Q)

    def unselectable(self, limit: float, stop: Callable[[], bool] = lambda: False) -> FixedFeatures:
        """Find features d with sᵀQs − sᵀBs ≤ limit for every selection s that contains d.

        `stop` is asked before every step; when it says so, what is found until then is returned.
        """
        n = len(self._Q)
        nothing = FixedFeatures(np.zeros(0, dtype=np.int64), np.zeros((0, n), dtype=np.float32))
        if self._trivial or not np.isfinite(limit):
            return nothing
        linear = _coefficients(self._Q, self._n_select)
        points = _Points(self, linear)
        found: dict[int, NDArray[np.float32]] = {}
        for _ in range(self._params.steps):
            if stop() or not len(points.features):
                break
            values, worth = points.look()
            proven = values <= limit
            found |= zip(points.features[proven].tolist(), points.P[proven], strict=True)
            # Where a relaxed selection lies above the limit, hardly any point proves less.
            points.keep(~proven & (worth <= limit))
            points.move()
        if not found:
            return nothing
        features = np.array(sorted(found), dtype=np.int64)
        chosen = np.array([found[d] for d in features.tolist()], dtype=np.float32)
        proven = self._proven(linear[features], features, chosen) <= limit
        return FixedFeatures(features[proven], chosen[proven])

    def values(
        self, stop: Callable[[], bool] = lambda: False
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return, for every feature, an upper bound over the selections that contain it.

        With them comes the point that proves each. Without anything to choose, the bounds are
        infinite.
        """
        n = len(self._Q)
        if self._trivial:
            return np.full(n, np.inf), np.zeros((n, n), dtype=np.float32)
        linear = _coefficients(self._Q, self._n_select)
        points = _Points(self, linear)
        best, chosen = np.full(n, np.inf), points.P.copy()
        for _ in range(self._params.steps_for_values):
            if stop():
                break
            values, _ = points.look()
            better = values < best
            best[better], chosen[better] = values[better], points.P[better]
            points.move()
        return self._proven(linear, points.features, chosen), chosen

    def _proven(
        self, linear: NDArray[np.float64], features: Indices, points: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return what points prove of their features, in double precision and rounded up."""
        m, B = self._n_select, self._B
        P = points.astype(np.float64)
        BP = P @ B
        constant, largest, _ = _split(linear - 2.0 * BP, features, m)
        curvature = (P * BP).sum(axis=1) + self._deficit * (m + (P * P).sum(axis=1))
        mass = np.abs(P).sum(axis=1) + m
        size = mass**2 * float(np.abs(B).max()) + m * float(np.abs(linear).max())
        values: NDArray[np.float64] = constant + largest.sum(axis=1) + curvature
        rounded_up: NDArray[np.float64] = values + 4.0 * len(B) * EPS * size
        return rounded_up


class _Points:
    """One point for every feature in question, all moved together in single precision."""

    def __init__(self, problem: FeatureFixing, linear: NDArray[np.float64]) -> None:
        n, n_select, diagonal = len(linear), problem._n_select, problem._diagonal
        self.features: Indices = np.arange(n)
        self._B = problem._B.astype(np.float32)
        self._linear: Matrix = linear.astype(np.float32)
        self._deficit, self._n_select = problem._deficit, n_select
        selected = diagonal > problem._params.lowest_diagonal
        start = np.where(selected, np.clip(diagonal, 0.0, 1.0), 0.0)
        others = np.tile(start, (n, 1))
        np.fill_diagonal(others, 0.0)
        # What is selected besides d adds up to n_select − 1 at the most, as in selections with d.
        scale = (n_select - 1) / np.maximum(others.sum(axis=1), n_select - 1)
        self.P: Matrix = (others * scale[:, None]).astype(np.float32)
        np.fill_diagonal(self.P, 1.0)
        self._BP: Matrix = self.P @ self._B

    def look(self) -> tuple[Matrix, Matrix]:
        """Return what every point proves, but for rounding, and what it is worth itself."""
        P, m = self.P, self._n_select
        self._slope: Matrix = self._linear - 2.0 * self._BP
        constant, largest, self._best = _split(self._slope, self.features, m)
        curvature = (P * self._BP).sum(axis=1)
        values = constant + largest.sum(axis=1) + curvature
        values += self._deficit * (m + (P * P).sum(axis=1))
        return values, (self._linear * P).sum(axis=1) - curvature

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Forget all but some of the points."""
        self.features, self.P, self._BP = self.features[which], self.P[which], self._BP[which]
        self._linear, self._slope = self._linear[which], self._slope[which]
        self._best = self._best[which]

    def move(self) -> None:
        """Move every point towards the best selection of its last look, as far as it pays."""
        target = _selections(self._best, self.features, self.P.shape[1])
        change = target.toarray() - self.P
        turned: Matrix = target @ self._B - self._BP
        gain = (self._slope * change).sum(axis=1)
        bend = 2.0 * (change * turned).sum(axis=1)
        length = np.clip(gain / np.maximum(bend, 1e-30), 0.0, 1.0).astype(np.float32)[:, None]
        self.P, self._BP = self.P + length * change, self._BP + length * turned


def _coefficients(Q: NDArray[np.float64], n_select: int) -> NDArray[np.float64]:
    """Return, for every feature d, the coefficients 2Q_dj + q_j, and Q_dd for d itself."""
    n = len(Q)
    diagonal = np.diagonal(Q).copy()
    rows = diagonal.copy()
    if n_select > 2:
        off = Q.copy()
        np.fill_diagonal(off, -np.inf)
        first = n - n_select + 2
        rows += np.partition(off, first, axis=1)[:, first:].sum(axis=1)
    result = 2.0 * Q + rows
    np.fill_diagonal(result, diagonal)
    # What adding up the entries of a row can have lost.
    return result + 4.0 * n_select * EPS * float(np.abs(Q).max())


def _split(slope: Matrix, features: Indices, n_select: int) -> tuple[Matrix, Matrix, Indices]:
    """Return every row's coefficient of its own feature, its largest others, and where they are."""
    own = np.arange(len(features))
    constant = slope[own, features]
    others = slope.copy()
    others[own, features] = -np.inf
    first = slope.shape[1] - n_select + 1
    best = np.argpartition(others, first, axis=1)[:, first:]
    return constant, np.take_along_axis(others, best, axis=1), best


def _selections(best: Indices, features: Indices, n: int) -> csr_array:
    """Return one selection a row: the best features and the row's own."""
    members = np.concatenate([best, features[:, None]], axis=1)
    count, size = members.shape
    ones = np.ones(count * size, dtype=np.float32)
    start = np.arange(0, count * size + 1, size)
    return csr_array((ones, members.ravel(), start), shape=(count, n))
