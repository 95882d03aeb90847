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
from scipy.linalg import LinAlgError, eigh

from qpopt.cuts.quadric import QuadricCuts
from qpopt.cuts.thresholds import Thresholds
from qpopt.kernels.admm import split_slack
from qpopt.problem.subproblem import Floats, Indices


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
    caution
        Factor on the penalty after an extension: new features disturb X, a large one overshoots.
    steps_per_balance
        How often the penalty is balanced.
    single_precision_from
        Matrices this large are iterated in single precision; safe values are always double.
    """

    dual_emphasis: float = 0.03
    large_dual_emphasis: float = 0.015
    step_length: float = 1.6
    penalty: float = 3.0
    caution: float = 0.3
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
        self.X: Floats = uniform(n, n_select).astype(self._dtype(n))
        self.S: Floats = np.zeros_like(self.X)
        self.N: Floats = np.zeros_like(self.X)
        self.y: NDArray[np.float64] = np.zeros(n)
        self.t = 0.0
        # The penalty has the unit of X over that of C.
        self.penalty = params.penalty / max(float(np.abs(np.diagonal(C)).mean()), 1e-12)
        self.rank = n
        self.cuts = cuts or QuadricCuts()
        self.steps = 0
        self.set_objective(C)

    def _dtype(self, n: int) -> type[np.floating[Any]]:
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

    def step(self, thresholds: Thresholds | None = None) -> None:
        """Make one iteration.

        Parameters
        ----------
        thresholds
            Cuts on what the classes gain, whose matrix is part of C; their shares are changed.
        """
        n, m, real = len(self.y), self.n_select, self.dtype.type
        inverse = 1.0 / self.penalty
        residual = self._equalities(self.X)
        residual[-1] -= m
        primal = float(np.linalg.norm(residual))
        self.y, self.t = self._solve_equalities(inverse * residual)
        W = np.empty_like(self.S)
        iterate = AdmmIterate(self._G, self.S, self.X, self.N, W, self.y.astype(self.dtype))
        split_slack(iterate, real(inverse), real(self.t), real(m))
        # A second look at y, now that N is known, is what makes three blocks converge.
        y, t = self._solve_equalities(inverse * residual)
        change = (0.5 * (y - self.y)).astype(self.dtype)
        W += change[:, None]
        W += change[None, :]
        W[np.diag_indices(n)] += real(t - self.t) - m * 2 * change
        self.y, self.t = y, t
        if len(self.cuts):
            self._step_cuts(W)
        if thresholds is not None:
            self._step_shares(W, thresholds)
        low_rank = self._negative_part(W)
        W += low_rank
        self.S = W
        low_rank *= self.penalty
        low_rank -= self.X
        dual = float(np.linalg.norm(low_rank)) * inverse
        low_rank *= self._params.step_length
        self.X += low_rank
        self.steps += 1
        if self.steps % self._params.steps_per_balance == 0:
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
        block, dtype = np.ix_(keep, keep), self._dtype(len(keep))
        cuts = self.cuts.renumbered(position, included)
        self.X, self.S, self.N = (
            np.ascontiguousarray(M[block], dtype=dtype) for M in (self.X, self.S, self.N)
        )
        self.y = self.y[keep]
        self.rank = min(self.rank, len(keep))
        self.set_objective(C, cuts)

    def extend(self, positions: Indices, C: NDArray[np.float64]) -> None:
        """Go on with more features: the present ones take `positions` among those of C.

        The new rows start with S + N = D, so that the first step does not disturb y.
        """
        n = len(C)
        # New features get the y that makes the diagonal of their slack that of unselected ones.
        diagonal = np.diagonal(self.S)[np.diagonal(self.X) <= np.median(np.diagonal(self.X))]
        y = (self.t - float(np.median(diagonal)) - np.diagonal(C)) / (self.n_select - 1)
        y[positions] = self.y
        self.y = y
        new = positions.tolist()
        cuts = (cut.renumbered(new) for cut in self.cuts.cuts)
        self.cuts = QuadricCuts(cuts, self.cuts.multipliers)
        block = np.ix_(positions, positions)
        D = self.slack(C).astype(self._dtype(n))
        N = np.maximum(D, 0)
        np.fill_diagonal(N, 0)
        S, X = D - N, np.zeros_like(D)
        X[block], S[block], N[block] = self.X, self.S, self.N
        self.X, self.S, self.N = X, S, N
        self.set_objective(C)
        self.rank = n
        self.penalty *= self._params.caution

    def _equalities(self, *matrices: Floats) -> NDArray[np.float64]:
        """Return Me − n_select · diag(M), followed by tr M, of the sum M of the matrices."""
        diagonal = sum(np.diagonal(M).astype(np.float64) for M in matrices)
        rows = sum((M @ np.ones(len(M), M.dtype)).astype(np.float64) for M in matrices)
        return np.append(rows - self.n_select * diagonal, np.sum(diagonal))

    def _solve_equalities(self, pull: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the best y and t; X pulls at them, and G, N and S are as they are.

        The normal equations have one diagonal, one part of rank one and one border.
        """
        target = self._equalities(self._G, self.N, self.S) + pull
        rows, n, m = target[:-1], len(self.y), self.n_select
        scale = n / 2 - 2 * m + m * m
        system = np.array([[scale + n / 2, (1.0 - m) * n], [1.0 - m, float(n)]])
        total, t = np.linalg.solve(system, np.array([rows.sum(), target[-1]])).tolist()
        return (rows - 0.5 * total - (1.0 - m) * t) / scale, t

    def _step_cuts(self, W: Floats) -> None:
        """Improve the multipliers of the cuts, and bring W up to date."""
        change = self.cuts.step(W - self.S, self.penalty)
        self.cuts.add_to(W, change)
        self.cuts.add_to(self._G, -change)

    def _step_shares(self, W: Floats, thresholds: Thresholds) -> None:
        """Improve the shares of the threshold cuts, and bring W up to date."""
        left = thresholds.left
        change = thresholds.splits.step(W - self.S, left) * left[thresholds.splits.cuts.classes]
        thresholds.splits.add_to(W, -change)
        thresholds.splits.add_to(self._G, change)

    def _negative_part(self, W: Floats) -> Floats:
        """Return the negative part of W as a positive semidefinite matrix.

        Whichever part of W has the smaller rank is computed, the other one follows.
        """
        n = len(W)
        few = min(self.rank, n - self.rank)
        negative = 2 * self.rank <= n
        wanted = [-np.inf, 0.0] if negative else [0.0, np.inf]
        try:
            if 0 < few < n // 3 and n > 100:
                values, vectors = eigh(W, driver="evr", subset_by_value=wanted, check_finite=False)
            else:
                values, vectors = eigh(W, driver="evd", check_finite=False)
                negative = 2 * int(np.count_nonzero(values < 0)) <= n
        except LinAlgError:
            values, vectors = eigh(W.astype(np.float64), driver="ev", check_finite=False)
        chosen = values < 0 if negative else values > 0
        count = int(np.count_nonzero(chosen))
        self.rank = count if negative else n - count
        vectors = vectors[:, chosen] * np.sqrt(np.abs(values[chosen]))
        vectors = np.ascontiguousarray(vectors, dtype=self.dtype)
        result: Floats = vectors @ vectors.T
        if not negative:
            result -= W
        return result

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
