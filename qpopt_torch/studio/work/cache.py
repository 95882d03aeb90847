"""Cached: the features of a model's samples, so that an answer is measured without the network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from qpopt import InvalidFile
from qpopt.io import replacing
from qpopt_torch.errors import UNREADABLE, reason
from qpopt_torch.sparse.sparse_head import SparseHead

FILE = "features.safetensors"
ARRAYS = ("features", "labels", "seen", "truth")
MOST_SAMPLES = 6_000
"""Training samples of an adapter at most: more would take longer than a person waits."""


@dataclass(frozen=True, eq=False)
class Cached:
    """Features of training and validation samples.

    Parameters
    ----------
    features, labels
        Of the training samples, N × all features of the network.
    seen, truth
        Of the validation samples.
    n_classes
        How many classes there are.
    """

    features: NDArray[np.float32]
    labels: NDArray[np.int64]
    seen: NDArray[np.float32]
    truth: NDArray[np.int64]
    n_classes: int

    @property
    def totals(self) -> NDArray[np.int64]:
        """Validation samples of every class."""
        return np.bincount(self.truth, minlength=self.n_classes)

    def thinned(self, most: int = MOST_SAMPLES, seed: int = 0) -> Cached:
        """Return the same with fewer training samples, of every class the same share."""
        if len(self.labels) <= most:
            return self
        chance = np.random.default_rng(seed)
        order = chance.permutation(len(self.labels))
        ranks = np.empty(len(order))
        for c in range(self.n_classes):
            members = order[self.labels[order] == c]
            ranks[members] = (np.arange(len(members)) + 0.5) / max(1, len(members))
        kept = np.sort(np.argsort(ranks, kind="stable")[:most])
        return Cached(self.features[kept], self.labels[kept], self.seen, self.truth, self.n_classes)

    def head(self, selection: list[int], sets: list[list[int]]) -> SparseHead:
        """Return a head of an answer, normalised by the training samples."""
        assignment = np.array([np.isin(selection, row) for row in sets])
        chosen = self.features[:, selection].astype(np.float64)
        return SparseHead(selection, assignment, chosen.mean(0), chosen.std(0))

    def right(self, head: SparseHead) -> NDArray[np.int64]:
        """Return how many validation samples of every class a head recognises."""
        with torch.no_grad():
            parts = np.array_split(np.arange(len(self.truth)), max(1, len(self.truth) // 1024))
            found = [head(torch.from_numpy(self.seen[part])).argmax(1).numpy() for part in parts]
        hits = self.truth[np.concatenate(found) == self.truth]
        return np.bincount(hits, minlength=self.n_classes)

    def save(self, folder: Path) -> None:
        """Write one file into a folder."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        with replacing(folder / FILE) as stream:
            stream.write(save(arrays, {"n_classes": str(self.n_classes)}))

    @classmethod
    def load(cls, folder: Path) -> Cached:
        """Read what `save` wrote.

        Raises
        ------
        InvalidFile
            If it is missing or damaged.
        """
        try:
            with safe_open(folder / FILE, framework="numpy") as kept:
                arrays = {name: kept.get_tensor(name) for name in ARRAYS}
                return cls(**arrays, n_classes=int(kept.metadata()["n_classes"]))
        except (*UNREADABLE, SafetensorError) as error:
            raise InvalidFile(f"Cannot read {folder / FILE}: {reason(error)}.") from error
