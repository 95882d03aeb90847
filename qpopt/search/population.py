"""Elite selections, and new starts made from them."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

SIZE = 5
LEAST_DISTANCE = 2


class Population:
    """A few good selections that differ from each other.

    Parameters
    ----------
    rng
        Where chance comes from.
    fixed
        Features that every selection contains.
    """

    def __init__(self, rng: Generator, fixed: frozenset[int]) -> None:
        self.rng = rng
        self.fixed = fixed
        self.members: list[tuple[float, frozenset[int]]] = []
        self.failures = 0

    @property
    def full(self) -> bool:
        """Whether there are enough members to make new starts from them."""
        return len(self.members) >= SIZE

    def add(self, objective: float, selection: NDArray[np.int64]) -> None:
        """Take a selection in unless it is worse than all, or than one that is much alike."""
        features = frozenset(selection.tolist())
        alike = [m for m in self.members if len(features - m[1]) < LEAST_DISTANCE]
        self.failures += 1
        if any(value >= objective for value, _ in alike):
            return
        if self.full and not alike and objective <= self.members[-1][0]:
            return
        self.failures = 0
        self.members = [m for m in self.members if m not in alike]
        self.members.append((objective, features))
        self.members.sort(key=lambda m: -m[0])
        del self.members[SIZE:]

    def clear(self) -> None:
        """Forget all members."""
        self.members = []
        self.failures = 0

    def recombine(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what two members have in common, and what only one of them has."""
        first, second = self.rng.choice(len(self.members), 2, replace=False)
        one, other = self.members[first][1], self.members[second][1]
        return _indices(one & other), _indices(one ^ other)

    def disturb(self) -> NDArray[np.int64]:
        """Return a part of a member that is to be completed anew."""
        chosen = self.members[self.rng.integers(len(self.members))][1]
        free = _indices(chosen - self.fixed)
        n_kept = int(len(free) * self.rng.uniform(0.5, 0.9))
        kept = self.rng.choice(free, n_kept, replace=False)
        return np.concatenate([_indices(self.fixed), kept])


def _indices(features: frozenset[int]) -> NDArray[np.int64]:
    return np.array(sorted(features), np.int64)
