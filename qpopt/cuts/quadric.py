"""Cuts on X = ssᵀ, all of one form: a whole number is never strictly between two others.

For sets `plus` and `minus` of features, u = Σ_plus s − Σ_minus s is a whole number, so
(u − q)(u − q − 1) ≥ 0 for every whole q, the `level` of the cut. Half of it, in terms of X:

    q Σ_plus X_jj − (q + 1) Σ_minus X_jj − Σ_{j<l} σ_j σ_l X_jl ≤ q(q + 1)/2,

σ being 1 on `plus` and −1 on `minus`. With q = 0 and one feature on either side this is
X_ij ≤ X_ii; with two in `plus` it is a triangle X_ij + X_ik ≤ X_ii + X_jk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.quadric_cuts import add_cuts, cut_values, grow_cuts, sweep_cuts
from qpopt.problem.subproblem import Floats, Indices


@dataclass(frozen=True)
class QuadricParams:
    """How cuts on X are looked for.

    Parameters
    ----------
    starts
        For every feature, how many of those most often selected with it a search starts at.
    levels
        For every feature, up to which level a search with nothing in `minus` starts.
    largest
        The most features of a cut; larger ones slow the iteration down more than they tighten it.
    most_new
        Cuts added at once, the deepest ones.
    lowest_diagonal
        Features that are selected less are not looked at.
    lowest_violation, least_gain
        By how much X must violate a cut worth having, and what one more feature must add to that.
    """

    starts: int = 20
    levels: int = 3
    largest: int = 9
    most_new: int = 8000
    lowest_diagonal: float = 1e-3
    lowest_violation: float = 1e-3
    least_gain: float = 1e-6


class QuadricCut(NamedTuple):
    """(u − level)(u − level − 1) ≥ 0 for u = Σ_plus s − Σ_minus s."""

    level: int
    plus: tuple[int, ...]
    minus: tuple[int, ...]

    @property
    def limit(self) -> float:
        """The right side of the cut."""
        return 0.5 * self.level * (self.level + 1)

    def renumbered(self, number: Sequence[int]) -> QuadricCut:
        """Return the cut with other numbers of the features, those below 0 left out."""
        plus, minus = (
            tuple(number[d] for d in side if number[d] >= 0) for side in (self.plus, self.minus)
        )
        return QuadricCut(self.level, plus, minus)


class CutEntries(NamedTuple):
    """What the compiled loops need of cuts.

    Parameters
    ----------
    start
        Where the entries of every cut begin, and where those of the last one end.
    row, column, weight
        The entries: the left side of a cut is Σ weight · X[row, column].
    squares
        The squared norm of the symmetric matrix of every cut.
    """

    start: Indices
    row: Indices
    column: Indices
    weight: NDArray[np.float64]
    squares: NDArray[np.float64]


def _entries(cuts: Sequence[QuadricCut]) -> CutEntries:
    start, row, column = [0], list[int](), list[int]()
    weight: list[float] = []
    for level, plus, minus in cuts:
        members = plus + minus
        signs = [1.0] * len(plus) + [-1.0] * len(minus)
        row += members
        column += members
        weight += [float(level)] * len(plus) + [-1.0 - level] * len(minus)
        for p, j in enumerate(members):
            row += [j] * p
            column += members[:p]
            weight += [-signs[p] * sign for sign in signs[:p]]
        start.append(len(row))
    rows, columns = np.array(row, dtype=np.int64), np.array(column, dtype=np.int64)
    weights = np.array(weight)
    squares = np.where(rows == columns, 1.0, 0.5) * weights**2
    norms = np.add.reduceat(squares, start[:-1]) if cuts else np.zeros(0)
    return CutEntries(np.array(start, dtype=np.int64), rows, columns, weights, norms)


class QuadricCuts:
    """Cuts with their multipliers.

    Parameters
    ----------
    cuts
        The cuts.
    multipliers
        One for every cut, non-negative; 0 by default.
    """

    def __init__(self, cuts: Iterable[QuadricCut] = (), multipliers: Floats | None = None) -> None:
        self.cuts = list(cuts)
        self.multipliers: NDArray[np.float64] = np.zeros(len(self.cuts))
        if multipliers is not None:
            self.multipliers[:] = multipliers
        self.limits = np.array([cut.limit for cut in self.cuts])
        self._entries = _entries(self.cuts)

    def __len__(self) -> int:
        return len(self.cuts)

    @property
    def paid(self) -> float:
        """What the limits of the cuts add to the dual value."""
        return float(self.multipliers @ self.limits)

    def values(self, M: Floats) -> NDArray[np.float64]:
        """Return the left side of every cut at M."""
        result: NDArray[np.float64] = cut_values(M, self._entries)
        return result

    def add_to(self, M: Floats, factors: NDArray[np.float64]) -> None:
        """Add the symmetric matrices of the cuts, each times its factor, to M."""
        add_cuts(M, self._entries, factors)

    def step(self, M: Floats, penalty: float) -> NDArray[np.float64]:
        """Improve the multipliers so that M becomes smaller; return by how much each has changed.

        Parameters
        ----------
        M
            The matrix; it gets what the changes add to it.
        penalty
            How much its squared norm counts, compared with what the limits of the cuts cost.
        """
        old = self.multipliers
        self.multipliers = old.copy()
        sweep_cuts(M, self._entries, self.limits / penalty, self.multipliers)
        return self.multipliers - old

    def useful(self) -> list[int]:
        """Return the cuts that matter: those with a positive multiplier."""
        return [int(r) for r in np.flatnonzero(self.multipliers > 0.0)]

    def renumbered(self, position: Indices, included: Indices) -> QuadricCuts:
        """Return what the cuts that matter say once features are decided, as for splits."""
        selected = set(included.tolist())
        new = position.tolist()
        multipliers: dict[QuadricCut, float] = {}
        for r in self.useful():
            cut = self.cuts[r]
            level = cut.level + len(selected & set(cut.minus)) - len(selected & set(cut.plus))
            left = cut.renumbered(new)._replace(level=level)
            if len(left.plus) + len(left.minus) > 1:
                multipliers[left] = multipliers.get(left, 0.0) + float(self.multipliers[r])
        return QuadricCuts(multipliers, np.array(list(multipliers.values())))

    def renewed(self, X: Floats, params: QuadricParams = QuadricParams()) -> QuadricCuts:
        """Return the useful cuts together with new ones that X violates."""
        kept = {self.cuts[r]: self.multipliers[r] for r in self.useful()}
        kept |= {cut: 0.0 for cut in separate(X, params) if cut not in kept}
        return QuadricCuts(kept, np.array(list(kept.values())))


def separate(X: Floats, params: QuadricParams = QuadricParams()) -> list[QuadricCut]:
    """Return cuts that X violates, the deepest first."""
    used = np.flatnonzero(np.diagonal(X) > params.lowest_diagonal)
    n = len(used)
    if n < 2:
        return []
    inner = np.ascontiguousarray(X[np.ix_(used, used)], dtype=np.float64)
    starts = min(params.starts, n - 1)
    others = inner.copy()
    np.fill_diagonal(others, -np.inf)
    partners = np.argpartition(-others, starts - 1, axis=1)[:, :starts]
    grown = grow_cuts(
        inner, partners, params.levels, params.largest, params.lowest_violation, params.least_gain
    )
    found = _violated_pairs(inner, used, params.lowest_violation)
    members, signs, levels, violations = grown
    rows = zip(used[members].tolist(), signs.tolist(), levels.tolist(), violations, strict=True)
    for names, sides, level, violation in rows:
        plus = sorted(d for d, side in zip(names, sides, strict=True) if side > 0)
        minus = sorted(d for d, side in zip(names, sides, strict=True) if side < 0)
        size = len(plus) + len(minus)
        depth = float(violation) / (0.5 * size * (size + 1)) ** 0.5
        found[QuadricCut(level, tuple(plus), tuple(minus))] = depth
    return sorted(found, key=lambda cut: -found[cut])[: params.most_new]


def _violated_pairs(X: Floats, names: Indices, lowest: float) -> dict[QuadricCut, float]:
    """Return the violated ones among X_ij ≤ X_ii and X_ii + X_jj ≤ 1 + X_ij, and by how much."""
    x = np.diagonal(X)
    more = X - x[:, None]
    both = np.triu(x[:, None] + x[None, :] - 1.0 - X, 1)
    found = {}
    for (i, j), by in zip(
        names[np.argwhere(more > lowest)].tolist(), more[more > lowest], strict=True
    ):
        found[QuadricCut(0, (j,), (i,))] = float(by)
    for (i, j), by in zip(
        names[np.argwhere(both > lowest)].tolist(), both[both > lowest], strict=True
    ):
        found[QuadricCut(1, (i, j), ())] = float(by)
    return found
