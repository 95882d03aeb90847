"""Cuts on X = ssᵀ: triangles and clique-lifted cuts.

Both say that of a set K of features, given that i is selected, q are selected only if the pairs
among them are: Σ_{j∈K} X_ij ≤ X_ii + Σ_{j<l∈K} X_jl. A triangle is the case of two members.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.bounds.reduced import Floats, Indices

PER_FEATURE = 10
"""Triangles, and starts of cliques, for every feature."""

NEIGHBOURS = 60
"""Only the features most often selected together with i are tried as members."""

LARGEST = 12
"""The most members of a set."""

MOST_NEW = 4000
"""Cuts added at once, the most violated ones."""

LOWEST_DIAGONAL = 1e-3
LOWEST_VIOLATION = 1e-3


class Cuts:
    """Cuts with their multipliers, held as one list of entries (row, column, weight).

    Parameters
    ----------
    sets
        For every cut the feature i followed by the members of K.
    multipliers
        One for every cut, non-negative; 0 by default.
    """

    def __init__(
        self, sets: list[tuple[int, ...]] | None = None, multipliers: Floats | None = None
    ) -> None:
        self.sets = list(sets or [])
        self.multipliers: NDArray[np.float64] = np.zeros(len(self.sets))
        if multipliers is not None:
            self.multipliers[:] = multipliers
        start, row, column, weight = [0], [], [], []
        for i, *K in self.sets:
            row += [i] * (len(K) + 1)
            column += [i, *K]
            weight += [-1.0] + [1.0] * len(K)
            for p, j in enumerate(K):
                row += [j] * p
                column += K[:p]
                weight += [-1.0] * p
            start.append(len(row))
        self._entries = (
            np.array(start, dtype=np.int64),
            np.array(row, dtype=np.int64),
            np.array(column, dtype=np.int64),
            np.array(weight),
        )
        self.steps = self._safe_steps()

    def __len__(self) -> int:
        return len(self.sets)

    def values(self, M: Floats) -> NDArray[np.float64]:
        """Return the left side minus the right side of every cut at M."""
        from qpopt.bounds.kernels import cut_values

        result = np.zeros(len(self))
        cut_values(M, *self._entries, result)
        return result

    def add_to(self, M: Floats, factors: NDArray[np.float64]) -> None:
        """Add the symmetric matrices of the cuts, each times its factor, to M."""
        from qpopt.bounds.kernels import add_cuts

        add_cuts(M, *self._entries, factors)

    def useful(self) -> list[int]:
        """Return the cuts that matter: those with a positive multiplier."""
        return [int(r) for r in np.flatnonzero(self.multipliers > 0.0)]

    def restricted(self, keep: Indices, n: int) -> Cuts:
        """Return the cuts among the features `keep` of `n`, renumbered."""
        position = np.full(n, -1)
        position[keep] = np.arange(len(keep))
        sets, multipliers = [], []
        for members, multiplier in zip(self.sets, self.multipliers, strict=True):
            renumbered = tuple(int(position[d]) for d in members)
            if min(renumbered) >= 0:
                sets.append(renumbered)
                multipliers.append(multiplier)
        return Cuts(sets, np.array(multipliers))

    def renewed(self, X: Floats) -> Cuts:
        """Return the useful cuts together with new ones that X violates."""
        kept = self.useful()
        sets = [self.sets[r] for r in kept]
        known = set(sets)
        for members in separate(X):
            if members not in known:
                known.add(members)
                sets.append(members)
        multipliers = np.zeros(len(sets))
        multipliers[: len(kept)] = self.multipliers[kept]
        return Cuts(sets, multipliers)

    def _safe_steps(self) -> NDArray[np.float64]:
        """Return 1 / a row-wise bound of T Tᵀ, so that one step for every cut at once is stable."""
        start, row, column, weight = self._entries
        if not len(self):
            return np.zeros(0)
        low, high = np.minimum(row, column), np.maximum(row, column)
        _, entry = np.unique(low * (int(high.max()) + 1) + high, return_inverse=True)
        size = np.abs(weight) * np.where(row == column, 1.0, 0.5)
        load = np.bincount(entry, weights=np.abs(weight))[entry] * size
        return 1.0 / np.add.reduceat(load, start[:-1])


def separate(X: Floats) -> list[tuple[int, ...]]:
    """Return cuts that X violates, as the sets of `Cuts`."""
    from qpopt.bounds.kernels import separate_cliques, separate_triangles

    n = len(X)
    if n < 3:
        return []
    width = min(NEIGHBOURS, n)
    neighbours = np.argpartition(-X, width - 1, axis=1)[:, :width]
    order = np.argsort(-np.take_along_axis(X, neighbours, axis=1), axis=1)
    neighbours = np.ascontiguousarray(np.take_along_axis(neighbours, order, axis=1))
    excess = np.zeros((n, PER_FEATURE))
    pairs = np.zeros((n, PER_FEATURE, 2), dtype=np.int64)
    separate_triangles(X, LOWEST_DIAGONAL, neighbours, PER_FEATURE, excess, pairs)
    found: dict[tuple[int, ...], float] = {}
    for i, r in np.argwhere(excess > LOWEST_VIOLATION):
        found[(int(i), *sorted(pairs[i, r].tolist()))] = float(excess[i, r])
    members = np.zeros((n, PER_FEATURE, LARGEST), dtype=np.int64)
    sizes = np.zeros((n, PER_FEATURE), dtype=np.int64)
    separate_cliques(X, LOWEST_DIAGONAL, neighbours, PER_FEATURE, LARGEST, members, sizes, excess)
    for i, r in np.argwhere((excess > LOWEST_VIOLATION) & (sizes > 2)):
        inside = sorted(members[i, r, : sizes[i, r]].tolist())
        found[(int(i), *inside)] = float(excess[i, r])
    return sorted(found, key=lambda cut: -found[cut])[:MOST_NEW]
