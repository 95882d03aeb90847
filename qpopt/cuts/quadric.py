"""Cuts on X = ssᵀ, all of one form: a whole number is never strictly between two others.

For sets `plus` and `minus` of features, u = Σ_plus s − Σ_minus s is a whole number, so
(u − q)(u − q − 1) ≥ 0 for every whole q, the `level` of the cut. Half of it, in terms of X:

    q Σ_plus X_jj − (q + 1) Σ_minus X_jj − Σ_{j<l} σ_j σ_l X_jl ≤ q(q + 1)/2,

σ being 1 on `plus` and −1 on `minus`. With q = 0 and one feature on either side this is
X_ij ≤ X_ii; with two in `plus` it is a triangle X_ij + X_ik ≤ X_ii + X_jk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.admm import add_cuts, cut_values, sweep_cuts
from qpopt.kernels.quadric_cuts import grow_cuts
from qpopt.problem.subproblem import Floats, Indices

STARTS = 20
"""For every feature, how many of those most often selected with it a search for cuts starts at."""

LEVELS = 3
"""For every feature, up to which level a search for cuts with nothing in `minus` starts."""

LARGEST = 9
"""The most features of a cut; larger ones slow the iteration down more than they tighten it."""

MOST_NEW = 8000
"""Cuts added at once, the deepest ones."""

LOWEST_DIAGONAL = 1e-3
LOWEST_VIOLATION = 1e-3


class QuadricCut(NamedTuple):
    """(u − level)(u − level − 1) ≥ 0 for u = Σ_plus s − Σ_minus s."""

    level: int
    plus: tuple[int, ...]
    minus: tuple[int, ...]

    @property
    def limit(self) -> float:
        """The right side of the cut."""
        return 0.5 * self.level * (self.level + 1)


class QuadricCuts:
    """Cuts with their multipliers, held as one list of entries (row, column, weight).

    Parameters
    ----------
    cuts
        The cuts.
    multipliers
        One for every cut, non-negative; 0 by default.
    """

    def __init__(
        self, cuts: list[QuadricCut] | None = None, multipliers: Floats | None = None
    ) -> None:
        self.cuts = list(cuts or [])
        self.multipliers: NDArray[np.float64] = np.zeros(len(self.cuts))
        if multipliers is not None:
            self.multipliers[:] = multipliers
        self.limits = np.array([cut.limit for cut in self.cuts])
        start = [0]
        row: list[int] = []
        column: list[int] = []
        weight: list[float] = []
        for level, plus, minus in self.cuts:
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
        self._entries = (
            np.array(start, dtype=np.int64),
            np.array(row, dtype=np.int64),
            np.array(column, dtype=np.int64),
            np.array(weight),
        )
        on_diagonal = self._entries[1] == self._entries[2]
        squares = np.where(on_diagonal, 1.0, 0.5) * self._entries[3] ** 2
        self._squares = np.add.reduceat(squares, start[:-1]) if self.cuts else np.zeros(0)

    def __len__(self) -> int:
        return len(self.cuts)

    @property
    def paid(self) -> float:
        """What the limits of the cuts add to the dual value."""
        return float(self.multipliers @ self.limits) if len(self) else 0.0

    def values(self, M: Floats) -> NDArray[np.float64]:
        """Return the left side of every cut at M."""
        result = np.zeros(len(self))
        cut_values(M, *self._entries, result)
        return result

    def add_to(self, M: Floats, factors: NDArray[np.float64]) -> None:
        """Add the symmetric matrices of the cuts, each times its factor, to M."""
        add_cuts(M, *self._entries, factors)

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
        new = old.copy()
        sweep_cuts(M, *self._entries, self._squares, self.limits / penalty, new)
        self.multipliers = new
        return new - old

    def useful(self) -> list[int]:
        """Return the cuts that matter: those with a positive multiplier."""
        return [int(r) for r in np.flatnonzero(self.multipliers > 0.0)]

    def restricted(self, position: Indices, included: Indices) -> QuadricCuts:
        """Return what the cuts say once some features are decided.

        Parameters
        ----------
        position
            For every present feature its new number, or −1 where it is decided.
        included
            The present features that are decided by selecting them.
        """
        selected = set(included.tolist())
        new = position.tolist()
        multipliers: dict[QuadricCut, float] = {}
        for r in self.useful():
            level, plus, minus = self.cuts[r]
            level += sum(d in selected for d in minus) - sum(d in selected for d in plus)
            left = QuadricCut(
                level,
                tuple(new[d] for d in plus if new[d] >= 0),
                tuple(new[d] for d in minus if new[d] >= 0),
            )
            if len(left.plus) + len(left.minus) > 1:
                multipliers[left] = multipliers.get(left, 0.0) + float(self.multipliers[r])
        return QuadricCuts(list(multipliers), np.array(list(multipliers.values())))

    def renewed(self, X: Floats) -> QuadricCuts:
        """Return the useful cuts together with new ones that X violates."""
        kept = self.useful()
        cuts = [self.cuts[r] for r in kept]
        known = set(cuts)
        cuts += [cut for cut in separate(X) if cut not in known]
        multipliers = np.zeros(len(cuts))
        multipliers[: len(kept)] = self.multipliers[kept]
        return QuadricCuts(cuts, multipliers)


def separate(X: Floats) -> list[QuadricCut]:
    """Return cuts that X violates, the deepest first."""
    used = np.flatnonzero(np.diagonal(X) > LOWEST_DIAGONAL)
    n = len(used)
    if n < 2:
        return []
    inner = np.ascontiguousarray(X[np.ix_(used, used)], dtype=np.float64)
    starts = min(STARTS, n - 1)
    others = inner.copy()
    np.fill_diagonal(others, -np.inf)
    partners = np.argpartition(-others, starts - 1, axis=1)[:, :starts]
    most = n * (2 * starts + LEVELS)
    members = np.zeros((most, LARGEST), dtype=np.int64)
    signs = np.zeros((most, LARGEST), dtype=np.int64)
    levels, violations = np.zeros(most, dtype=np.int64), np.zeros(most)
    count = grow_cuts(inner, partners, LEVELS, LOWEST_VIOLATION, members, signs, levels, violations)
    found = _violated_pairs(inner)
    for r in range(count):
        size = np.count_nonzero(signs[r])
        cut = QuadricCut(
            int(levels[r]),
            tuple(sorted(members[r][signs[r] > 0].tolist())),
            tuple(sorted(members[r][signs[r] < 0].tolist())),
        )
        found[cut] = float(violations[r]) / np.sqrt(size * (size + 1) / 2)
    deepest = sorted(found, key=lambda cut: -found[cut])[:MOST_NEW]
    names = used.tolist()
    return [
        QuadricCut(level, tuple(names[d] for d in plus), tuple(names[d] for d in minus))
        for level, plus, minus in deepest
    ]


def _violated_pairs(X: Floats) -> dict[QuadricCut, float]:
    """Return the violated ones among X_ij ≤ X_ii and X_ii + X_jj ≤ 1 + X_ij, and by how much."""
    x = np.diagonal(X)
    more = X - x[:, None]
    both = np.triu(x[:, None] + x[None, :] - 1.0 - X, 1)
    found = {
        QuadricCut(0, (int(j),), (int(i),)): float(more[i, j])
        for i, j in np.argwhere(more > LOWEST_VIOLATION)
    }
    found |= {
        QuadricCut(1, (int(i), int(j)), ()): float(both[i, j])
        for i, j in np.argwhere(both > LOWEST_VIOLATION)
    }
    return found
