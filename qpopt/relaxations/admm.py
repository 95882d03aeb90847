"""The alternating direction method on the dual of the doubly non-negative relaxation.

Primal: max ⟨C, X⟩ over X ⪰ 0, X ≥ 0, Xe = n_select · diag(X), tr X = n_select, and cuts T(X) ≤ h.
Dual: min n_select · t + hᵀν over y, t, N ≥ 0, ν ≥ 0, S ⪰ 0 with D = S + N, where
D = ½(yeᵀ + eyᵀ) − n_select Diag(y) + tI + Tᵀν − C. X is the multiplier of D = S + N.

C itself is an average of cuts on what the classes gain, and their shares are dual variables too.
One step minimises the augmented Lagrangian over (y, t), N, every ν, the shares of every class and S
in turn; the last is one eigen-decomposition, of which only the negative part is needed.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.quadric import QuadricCuts
from qpopt.cuts.thresholds import Thresholds
from qpopt.kernels.admm import split_slack
from qpopt.problem.subproblem import Floats, Indices
from qpopt.relaxations.eigenvalues import negative_part


@dataclass(frozen=True)
class AdmmParams:
    """How the method steps.

    Parameters
    ----------
    dual_emphasis, large_dual_emphasis
        How much less the primal residual counts when the penalty is balanced: only the dual proves.
        Large matrices, those iterated in single precision, need more of it.
    step_length
        Over-relaxation of the multiplier; the theory of two blocks allows up to 1.618.
    penalty
        First penalty, for C with a diagonal of about 1.
    steps_per_balance
        How often the penalty is balanced.
    single_precision_from
        Matrices this large are iterated in single precision; safe values are always double.
    """

    dual_emphasis: float = 0.03
    large_dual_emphasis: float = 0.015
    step_length: float = 1.6
    penalty: float = 3.0
    steps_per_balance: int = 5
    single_precision_from: int = 500


class AdmmIterate(NamedTuple):
    """What the loop of a step reads, G being C − Tᵀν, and what it fills in: N and W."""

    G: Floats
    S: Floats
    X: Floats
    N: Floats
    W: Floats
    y: Floats
    weights: Floats


class Admm:
    """The state of the method for one objective matrix.

    Parameters
    ----------
    C
        Objective matrix, symmetric.
    n_select
        The number of features to select, at least 2 (with one, the rows of C say everything).
    cuts
        Cuts on X, their multipliers are changed in place.
    params
        How to step.
    """

    def __init__(
        self,
        C: NDArray[np.float64],
        n_select: int,
        cuts: QuadricCuts | None = None,
        params: AdmmParams = AdmmParams(),
    ) -> None:
        n = len(C)
        self.n_select = n_select
        self._params = params
        self.X: Floats = uniform(n, n_select).astype(self.precision(n))
        self.S: Floats = np.zeros_like(self.X)
        self.N: Floats = np.zeros_like(self.X)
        self.y: NDArray[np.float64] = np.zeros(n)
        self.t = 0.0
        # The penalty has the unit of X over that of C.
        self.penalty = params.penalty / max(float(np.abs(np.diagonal(C)).mean()), 1e-12)
        self.first_penalty = self.penalty
        self._weights: Floats = np.ones(n, dtype=self.dtype)
        self.rank = n
        self.cuts = cuts or QuadricCuts()
        self.steps = 0
        self.set_objective(C)

    def precision(self, n: int) -> type[np.floating[Any]]:
        """Return the precision in which n features are iterated."""
        return np.float32 if n >= self._params.single_precision_from else np.float64

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the iterate."""
        return self.X.dtype

    def set_objective(self, C: NDArray[np.float64], cuts: QuadricCuts | None = None) -> None:
        """Change the objective matrix, and the cuts if any are given; keep the iterate."""
        if cuts is not None:
            self.cuts = cuts
        self._G: Floats = C.astype(self.dtype)
        if len(self.cuts):
            self.cuts.add_to(self._G, -self.cuts.multipliers)

    def step(self, thresholds: Thresholds | None = None, *, settling: bool = False) -> None:
        """Make one iteration.

        Parameters
        ----------
        thresholds
            Cuts on what the classes gain, whose matrix is part of C; their shares are changed.
        settling
            Whether penalty and multipliers of cuts stay as they are, as they must while features
            have weights.
        """
        n, m, real = len(self.y), self.n_select, self.dtype.type
        inverse = 1.0 / self.penalty
        residual = self._equalities(self.X)
        residual[-1] -= m
        primal = float(np.linalg.norm(residual))
        self.y, self.t = self._solve_equalities(inverse * residual)
        W = np.empty_like(self.S)
        w, y = self._weights, self.y.astype(self.dtype)
        iterate = AdmmIterate(self._G, self.S, self.X, self.N, W, y, w)
        split_slack(iterate, real(inverse), real(self.t), real(m))
        # A second look at y, now that N is known, is what makes three blocks converge.
        y, t = self._solve_equalities(inverse * residual)
        change = (0.5 * (y - self.y)).astype(self.dtype)
        W += np.multiply.outer(w * change, w)
        W += np.multiply.outer(w, w * change)
        W[np.diag_indices(n)] += w * w * (real(t - self.t) - m * 2 * change)
        self.y, self.t = y, t
        if len(self.cuts) and not settling:
            self._step_cuts(W)
        if thresholds is not None:
            self._step_shares(W, thresholds)
        low_rank, self.rank = negative_part(W, self.rank)
        W += low_rank
        self.S = W
        low_rank *= self.penalty
        low_rank -= self.X
        dual = float(np.linalg.norm(low_rank)) * inverse
        low_rank *= self._params.step_length
        self.X += low_rank
        self.steps += 1
        if self.steps % self._params.steps_per_balance == 0 and not settling:
            self._balance(primal / (1.0 + m), dual / (1.0 + float(np.linalg.norm(self._G))))

    def copy(self) -> Admm:
        """Return a state that goes its own way from here."""
        twin = copy(self)
        for name in ("X", "S", "N", "_G"):
            setattr(twin, name, getattr(self, name).copy())
        twin.cuts = QuadricCuts(self.cuts.cuts, self.cuts.multipliers)
        return twin

    def symmetric_S(self) -> Floats:
        """Return S, exactly symmetric, in the precision of the iterate: what a proof refers to."""
        result: Floats = (self.S + self.S.T) * self.dtype.type(0.5)
        return result

    def slack(self, C: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return −M in double precision: sᵀCs ≤ n_select · t + the limits of the cuts + sᵀMs."""
        D = 0.5 * (self.y[:, None] + self.y[None, :]) - C
        np.fill_diagonal(D, (1 - self.n_select) * self.y + self.t - np.diagonal(C))
        if len(self.cuts):
            self.cuts.add_to(D, self.cuts.multipliers)
        return D

    def restrict(self, position: Indices, included: Indices, C: NDArray[np.float64]) -> None:
        """Go on with fewer features; `position` and `included` as for `QuadricCuts.renumbered`.

        C is the objective matrix of those that are left.
        """
        keep = np.flatnonzero(position >= 0)
        block, dtype = np.ix_(keep, keep), self.precision(len(keep))
        cuts = self.cuts.renumbered(position, included)
        X, S, N = (np.ascontiguousarray(M[block], dtype=dtype) for M in (self.X, self.S, self.N))
        self.become(X, S, N, self.y[keep])
        self.set_objective(C, cuts)

    def become(self, X: Floats, S: Floats, N: Floats, y: NDArray[np.float64]) -> None:
        """Go on from another iterate, of other features; `set_objective` is to follow."""
        self.X, self.S, self.N, self.y = X, S, N, y
        self._weights = np.ones(len(y), dtype=X.dtype)
        self.rank = min(self.rank, len(y))

    def weigh(self, weights: Floats) -> None:
        """Let features count more or less in the norms of the method from now on.

        For any weights w > 0 the problem for (w_i w_j C_ij) is the same one, and both cones stay
        what they are. X, S and N stand for what they are only while all weights are 1.
        """
        change = weights / self._weights
        pairs = np.multiply.outer(change, change)
        for M in (self._G, self.S, self.N):
            M *= pairs
        self.X /= pairs
        self._weights = weights

    def _equalities(self, *matrices: Floats) -> NDArray[np.float64]:
        """Return Me − n_select · diag(M), followed by tr M, of the sum M of the matrices.

        The weights of the features are put into the matrices first.
        """
        w = self._weights
        diagonal = sum((w * w * np.diagonal(M)).astype(np.float64) for M in matrices)
        rows = sum((w * (M @ w)).astype(np.float64) for M in matrices)
        return np.append(rows - self.n_select * diagonal, np.sum(diagonal))

    def _solve_equalities(self, pull: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the best y and t; X pulls at them, and G, N and S are as they are.

        The normal equations have one diagonal, one part of rank one and one border.
        """
        target = self._equalities(self._G, self.N, self.S) + pull
        q = self._weights.astype(np.float64) ** 2
        border = (1.0 - self.n_select) * q * q
        diagonal = 0.5 * q * (q.sum() - 2.0 * q) + (1.0 - self.n_select) * border
        rows, ones, edge = (v / diagonal for v in (target[:-1], 0.5 * q, border))
        system = np.array(
            [[1.0 + q @ ones, q @ edge], [-border @ ones, (q * q).sum() - border @ edge]]
        )
        right = np.array([q @ rows, target[-1] - border @ rows])
        total, t = np.linalg.solve(system, right).tolist()
        return rows - total * ones - t * edge, t

    def _step_cuts(self, W: Floats) -> None:
        """Improve the multipliers of the cuts, and bring W up to date."""
        change = self.cuts.step(W - self.S, self.penalty)
        self.cuts.add_to(W, change)
        self.cuts.add_to(self._G, -change)

    def _step_shares(self, W: Floats, thresholds: Thresholds) -> None:
        """Improve the shares of the threshold cuts, and bring W up to date."""
        change = thresholds.step(W - self.S)
        W -= change
        self._G += change

    def _balance(self, primal: float, dual: float) -> None:
        params = self._params
        large = self.dtype == np.float32
        emphasis = params.large_dual_emphasis if large else params.dual_emphasis
        ratio = emphasis * primal / max(dual, 1e-300)
        factor = 1.5 if ratio > 10.0 or ratio < 0.1 else 1.15
        if ratio > 1.5:
            self.penalty /= factor
        elif ratio < 1 / 1.5:
            self.penalty *= factor


def uniform(n: int, n_select: int) -> NDArray[np.float64]:
    """Return the X of all selections alike."""
    X = np.full((n, n), n_select * (n_select - 1) / max(n * (n - 1), 1))
    np.fill_diagonal(X, n_select / n)
    return X
