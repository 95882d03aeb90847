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

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh

from qpopt.cuts.quadric import QuadricCut, QuadricCuts
from qpopt.cuts.thresholds import Thresholds
from qpopt.kernels.admm import split_slack
from qpopt.problem.subproblem import Floats, Indices

DUAL_EMPHASIS = 0.03
LARGE_DUAL_EMPHASIS = 0.015
"""How much less the primal residual counts when the penalty is balanced: only the dual proves.
Large matrices, those iterated in single precision, need more of it."""

STEP_LENGTH = 1.6
"""Over-relaxation of the multiplier; the theory of two blocks allows up to 1.618."""

PENALTY = 3.0
"""First penalty, for C with a diagonal of about 1."""

CAUTION = 0.3
"""Factor on the penalty after an extension: new features disturb X, and a large one overshoots."""

SINGLE_PRECISION_FROM = 500
"""Matrices this large are iterated in single precision; safe values are always double."""


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
    """

    def __init__(
        self, C: NDArray[np.float64], n_select: int, cuts: QuadricCuts | None = None
    ) -> None:
        n = len(C)
        self.n_select = n_select
        self.dtype = np.dtype(np.float32 if n >= SINGLE_PRECISION_FROM else np.float64)
        self.X: Floats = np.full(
            (n, n), n_select * (n_select - 1) / max(n * (n - 1), 1), dtype=self.dtype
        )
        np.fill_diagonal(self.X, n_select / n)
        self.S: Floats = np.zeros((n, n), dtype=self.dtype)
        self.N: Floats = np.zeros((n, n), dtype=self.dtype)
        self.y: NDArray[np.float64] = np.zeros(n)
        self.t = 0.0
        # The penalty has the unit of X over that of C.
        self.penalty = PENALTY / max(float(np.abs(np.diagonal(C)).mean()), 1e-12)
        self.rank = n
        self.cuts = cuts or QuadricCuts()
        self.steps = 0
        self.set_objective(C)

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
        rows, trace = self._equalities(self.X)
        primal = float(np.sqrt(rows @ rows + (trace - m) ** 2))
        target_rows, target_trace = self._equalities(self._G, self.N, self.S)
        self.y, self.t = _solve_equalities(
            target_rows + inverse * rows, target_trace + inverse * (trace - m), m
        )
        N, W = self.N, np.empty((n, n), dtype=self.dtype)
        split_slack(
            self._G, self.S, self.X, real(inverse), self.y.astype(self.dtype), real(self.t),
            real(m), N, W,
        )  # fmt: skip
        # A second look at y, now that N is known, is what makes three blocks converge.
        target_rows, target_trace = self._equalities(self._G, N, self.S)
        y, t = _solve_equalities(
            target_rows + inverse * rows, target_trace + inverse * (trace - m), m
        )
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
        low_rank *= STEP_LENGTH
        self.X += low_rank
        self.steps += 1
        if self.steps % 5 == 0:
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
        """Go on with fewer features; `position` and `included` as for `QuadricCuts.restricted`.

        C is the objective matrix of those that are left.
        """
        keep = np.flatnonzero(position >= 0)
        block = np.ix_(keep, keep)
        cuts = self.cuts.restricted(position, included)
        self.dtype = np.dtype(np.float32 if len(keep) >= SINGLE_PRECISION_FROM else np.float64)
        self.X, self.S, self.N = (
            np.ascontiguousarray(M[block], dtype=self.dtype) for M in (self.X, self.S, self.N)
        )
        self.y = self.y[keep]
        self.rank = min(self.rank, len(keep))
        self.set_objective(C, cuts)

    def extend(self, positions: Indices, C: NDArray[np.float64]) -> None:
        """Go on with more features: the present ones take `positions` among those of C.

        The new rows start with S + N = D, so that the first step does not disturb y.
        """
        n = len(C)
        self.dtype = np.dtype(np.float32 if n >= SINGLE_PRECISION_FROM else np.float64)
        # New features get the y that makes the diagonal of their slack that of unselected ones.
        diagonal = np.diagonal(self.S)[np.diagonal(self.X) <= np.median(np.diagonal(self.X))]
        y = (self.t - float(np.median(diagonal)) - np.diagonal(C)) / (self.n_select - 1)
        y[positions] = self.y
        self.y = y
        new = positions.tolist()
        cuts = [
            QuadricCut(level, tuple(new[d] for d in plus), tuple(new[d] for d in minus))
            for level, plus, minus in self.cuts.cuts
        ]
        self.set_objective(C, QuadricCuts(cuts, self.cuts.multipliers))
        block = np.ix_(positions, positions)
        D = self.slack(C).astype(self.dtype)
        N = np.maximum(D, 0)
        np.fill_diagonal(N, 0)
        S = D - N
        X = np.zeros((n, n), dtype=self.dtype)
        X[block], S[block], N[block] = self.X, self.S, self.N
        self.X, self.S, self.N = X, S, N
        self.rank = n
        self.penalty *= CAUTION

    def _equalities(self, *matrices: Floats) -> tuple[NDArray[np.float64], float]:
        """Return Me − n_select · diag(M) and tr M of the sum M of the matrices."""
        n = len(self.y)
        rows, diagonal = np.zeros(n), np.zeros(n)
        ones = np.ones(n, dtype=self.dtype)
        for M in matrices:
            rows += M @ ones
            diagonal += np.diagonal(M)
        return rows - self.n_select * diagonal, float(diagonal.sum())

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

    @property
    def _emphasis(self) -> float:
        return DUAL_EMPHASIS if self.dtype == np.float64 else LARGE_DUAL_EMPHASIS

    def _balance(self, primal: float, dual: float) -> None:
        ratio = self._emphasis * primal / max(dual, 1e-300)
        factor = 1.5 if ratio > 10.0 or ratio < 0.1 else 1.15
        if ratio > 1.5:
            self.penalty /= factor
        elif ratio < 1 / 1.5:
            self.penalty *= factor


def _solve_equalities(
    rows: NDArray[np.float64], trace: float, m: int
) -> tuple[NDArray[np.float64], float]:
    """Solve the normal equations of the equalities: one diagonal, one rank-one part, one border."""
    n = len(rows)
    scale = n / 2 - 2 * m + m * m
    system = np.array([[scale + n / 2, (1.0 - m) * n], [1.0 - m, float(n)]])
    solution = np.linalg.solve(system, np.array([rows.sum(), trace]))
    total, t = float(solution[0]), float(solution[1])
    return (rows - 0.5 * total - (1.0 - m) * t) / scale, t
