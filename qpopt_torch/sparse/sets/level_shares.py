"""LevelShares: how often each level of an explanation holds the true class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from qpopt_torch.errors import LoaderError, ModelError

CONFIDENCE = 0.95


@dataclass(frozen=True)
class LevelShares:
    """How often each level held the true class of calibration samples: a description, no promise.

    Parameters
    ----------
    hits
        For every level, from 0 on, in how many samples it held the true class. Level 0 holds all
        classes, the last one the predicted class alone.
    n_samples
        How many samples there were.
    """

    hits: tuple[int, ...]
    n_samples: int

    def __post_init__(self) -> None:
        counts = (*self.hits, self.n_samples)
        fine = len(self.hits) > 1 and all(type(count) is int and count >= 0 for count in counts)
        falling = fine and list(self.hits) == sorted(self.hits, reverse=True)
        if not falling or self.hits[0] != self.n_samples or not self.n_samples:
            raise ModelError(f"levels cannot hold {self.hits!r} of {self.n_samples!r} samples.")

    @classmethod
    def of(cls, deepest: ArrayLike, n_levels: int) -> LevelShares:
        """Count over samples, given the deepest level that holds the true class of each.

        `n_levels` is the number of the last one; see `deepest_levels`.
        """
        known = np.asarray(deepest)
        if not len(known):
            raise LoaderError("Levels cannot be calibrated without samples.")
        return cls(tuple(int((known >= n).sum()) for n in range(n_levels + 1)), len(known))

    @property
    def shares(self) -> tuple[float, ...]:
        """For every level, the share of samples in which it held the true class."""
        return tuple(count / self.n_samples for count in self.hits)

    def interval(self, level: int) -> tuple[float, float]:
        """Return the exact (Clopper–Pearson) 95 % interval of the share of a level."""
        return exact_interval(self.hits[level], self.n_samples)

    def deepest(self, wanted: float) -> int:
        """Return the deepest level whose share is at least as large as wanted."""
        return max(level for level, share in enumerate(self.shares) if share >= wanted or not level)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as values that JSON can hold."""
        return {"hits": list(self.hits), "n_samples": self.n_samples}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LevelShares:
        """Rebuild the counts.

        Raises
        ------
        ModelError
            If they cannot be.
        """
        if set(values) != {"hits", "n_samples"} or not isinstance(values["hits"], list | tuple):
            raise ModelError(f"levels are {dict(values)!r}.")
        return cls(tuple(values["hits"]), values["n_samples"])

    def __str__(self) -> str:
        lines = [
            f"How often a level held the true class, of {self.n_samples} samples (95 % interval)"
        ]
        for level, share in enumerate(self.shares):
            low, high = self.interval(level)
            lines.append(
                f"level {level}: {100 * share:5.1f} %  ({100 * low:.1f} to {100 * high:.1f})"
            )
        return "\n".join(lines)


def exact_interval(hits: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Clopper–Pearson interval of a share: each tail has at most half of the rest."""
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return low, high
