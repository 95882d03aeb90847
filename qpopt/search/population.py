"""Elite selections, and new starts made from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray


@dataclass(frozen=True)
class PopulationParams:
    """What the population holds, and what it makes of it.

    Parameters
    ----------
    size
        How many selections; with fewer, starts are random.
    least_distance
        In how many features two of them must differ.
    least_kept, most_kept
        Between which shares of a member's features a disturbed one keeps.
    """

    size: int = 5
    least_distance: int = 2
    least_kept: float = 0.5
    most_kept: float = 0.9


class Population:
    """A few good selections that differ from each other.

    Parameters
    ----------
    rng
        Where chance comes from.
    fixed
        Features that every selection contains.
    params
        Its size and the like.
    """

    def __init__(
        self, rng: Generator, fixed: frozenset[int], params: PopulationParams = PopulationParams()
    ) -> None:
        self.params = params
        self.rng = rng
        self.fixed = fixed
        self.members: list[tuple[float, frozenset[int]]] = []
        self.failures = 0

    @property
    def full(self) -> bool:
        """Whether there are enough members to make new starts from them."""
        return len(self.members) >= self.params.size

    def add(self, objective: float, selection: NDArray[np.int64]) -> None:
        """Take a selection in unless it is worse than all, or than one that is much alike."""
        features = frozenset(selection.tolist())
        alike = [m for m in self.members if len(features - m[1]) < self.params.least_distance]
        self.failures += 1
        if any(value >= objective for value, _ in alike):
            return
        if self.full and not alike and objective <= self.members[-1][0]:
            return
        self.failures = 0
        self.members = [m for m in self.members if m not in alike]
        self.members.append((objective, features))
        self.members.sort(key=lambda m: -m[0])
        del self.members[self.params.size :]

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
        share = self.rng.uniform(self.params.least_kept, self.params.most_kept)
        kept = self.rng.choice(free, int(len(free) * share), replace=False)
        return np.concatenate([_indices(self.fixed), kept])


def _indices(features: frozenset[int]) -> NDArray[np.int64]:
    return np.array(sorted(features), np.int64)
