"""Draws: chance that is the same on every machine, with every version of NumPy."""

from __future__ import annotations

import numpy as np

BLOCK = 128
"""Numbers that are drawn from a stream at once."""


class Draws:
    """Numbers of one stream, one after the other.

    Parameters
    ----------
    key
        Names the stream.
    """

    def __init__(self, *key: int) -> None:
        self.source = np.random.Philox(np.random.SeedSequence(key))
        self.ready: list[int] = []

    def bits(self) -> int:
        """Return a whole number below 2⁵³."""
        if not self.ready:
            self.ready = (self.source.random_raw(BLOCK) >> 11).tolist()[::-1]
        return self.ready.pop()

    def share(self) -> float:
        """Return a number in [0, 1), a multiple of 2⁻⁵³."""
        return self.bits() / 2**53

    def between(self, amount: float) -> float:
        """Return a number from −amount to amount."""
        return (2.0 * self.share() - 1.0) * amount

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n − 1."""
        return self.bits() * n >> 53
