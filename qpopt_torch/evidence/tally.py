"""What all samples come to, and as many of them as fit into memory: in a size that is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

KEPT = 200_000
"""Samples up to which the values of all are kept; of more, those of so many, drawn by chance."""


@dataclass(eq=False)
class Tally:
    """Figures of all samples, those that are not kept among them.

    Parameters
    ----------
    counts, hits
        Samples of every class, and those of them that were recognised.
    sums
        Sums of the values in every class, classes × features.
    least, largest
        The extreme values of every feature.
    mistakes
        How often a class was taken for another one, by label and prediction.
    """

    counts: NDArray[np.int64]
    hits: NDArray[np.int64]
    sums: NDArray[np.float64]
    least: NDArray[np.float32]
    largest: NDArray[np.float32]
    mistakes: Counter[tuple[int, int]] = field(default_factory=Counter)

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Tally:
        """Return the figures of no samples."""
        counts = np.zeros(n_classes, np.int64)
        sums = np.zeros((n_classes, n_features))
        least = np.full(n_features, np.inf, np.float32)
        return cls(counts, counts.copy(), sums, least, -least)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    def add(
        self,
        labels: NDArray[np.int64],
        predictions: NDArray[np.int64],
        values: NDArray[np.float32],
    ) -> None:
        """Add a batch."""
        if not len(labels):
            return
        n_classes, right = len(self.counts), labels == predictions
        self.counts += np.bincount(labels, minlength=n_classes)
        self.hits += np.bincount(labels[right], minlength=n_classes)
        np.add.at(self.sums, labels, values.astype(np.float64))
        self.least = np.minimum(self.least, values.min(axis=0))
        self.largest = np.maximum(self.largest, values.max(axis=0))
        wrong = zip(labels[~right].tolist(), predictions[~right].tolist(), strict=True)
        self.mistakes.update(wrong)


class Drawn(NamedTuple):
    """Samples, in the order in which they came: their places, labels, predictions and values."""

    places: NDArray[np.int64]
    labels: NDArray[np.int64]
    predictions: NDArray[np.int64]
    values: NDArray[np.float32]


class Draw:
    """Keeps all samples, or as many of them as are wanted, each with the same chance.

    Parameters
    ----------
    n_kept
        How many are kept at most.
    """

    def __init__(self, n_kept: int = KEPT) -> None:
        self.n_kept, self.n_seen, self.n_held = n_kept, 0, 0
        self.chance = np.random.default_rng(0)
        self.parts: list[tuple[NDArray[np.float64], Drawn]] = []

    def add(
        self,
        labels: NDArray[np.int64],
        predictions: NDArray[np.int64],
        values: NDArray[np.float32],
    ) -> None:
        """Add a batch."""
        places = self.n_seen + np.arange(len(labels))
        self.parts.append(
            (self.chance.random(len(labels)), Drawn(places, labels, predictions, values))
        )
        self.n_seen += len(labels)
        self.n_held += len(labels)
        if self.n_held > self.n_kept + self.n_kept // 4:
            self._reduce()

    def drawn(self) -> Drawn:
        """Return what is kept."""
        self._reduce()
        return self.parts[0][1]

    def _reduce(self) -> None:
        """Let go of all but those whose lots are the lowest."""
        lots = np.concatenate([lot for lot, _ in self.parts])
        kept: NDArray[np.intp] = np.arange(len(lots))
        if len(lots) > self.n_kept:
            kept = np.sort(np.argpartition(lots, self.n_kept)[: self.n_kept])
        whole: list[Any] = [
            np.concatenate(parts)[kept] for parts in zip(*(p for _, p in self.parts), strict=True)
        ]
        self.parts, self.n_held = [(lots[kept], Drawn(*whole))], len(kept)
