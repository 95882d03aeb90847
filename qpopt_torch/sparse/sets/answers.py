"""Answers: what a model says to samples, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor

from qpopt_torch.data.batches import batches
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import ModelError, require_sparse
from qpopt_torch.network.observation import Features, run
from qpopt_torch.sparse.sets.depths import Depths, deepest_levels

if TYPE_CHECKING:
    from qpopt_torch.sparse.classifier import SparseClassifier

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

KINDS = ("logits", "values")
"""What is known of every sample."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says to samples.

    Parameters
    ----------
    logits
        Samples × classes.
    values
        Features as they are added up, samples × features.
    assignment
        Classes × features.
    """

    logits: Floats
    values: Floats
    assignment: NDArray[Any]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.logits).all() and np.isfinite(self.values).all()):
            raise ModelError("The model gives logits or features that are not finite.")

    def __len__(self) -> int:
        return len(self.logits)

    def __getitem__(self, rows: Any) -> Answers:
        """Return what is said to some of the samples."""
        return Answers(self.logits[rows], self.values[rows], self.assignment)

    @property
    def predicted(self) -> Whole:
        """The first class with the largest logit."""
        classes: Whole = self.logits.argmax(axis=1)
        return classes

    @property
    def probabilities(self) -> Floats:
        """The softmax of the logits."""
        shares: Floats = softmax(self.logits, axis=1)
        return shares

    @property
    def evidence(self) -> Floats:
        """What the features of every class add up to, samples × classes."""
        sums: Floats = self.values @ np.asarray(self.assignment, dtype=np.float64).T
        return sums

    def deepest(self, labels: Whole) -> tuple[Whole, int]:
        """Return the deepest level that holds a given class of every sample, and the last level."""
        return deepest_levels(self.values, self.assignment, self.predicted, labels)

    def depths(self) -> Depths:
        """Return how far every class agrees with the predicted one."""
        return Depths.of(self.values, self.assignment, self.predicted)


def answers_of(
    model: SparseClassifier, loader: Iterable[Any], *, title: str, progress: bool
) -> tuple[Answers, Whole]:
    """Return what a model says to all samples of a loader, and their classes."""
    require_sparse(model, title)
    parts: list[Answers] = []
    known: list[Tensor] = []
    with model.observe() as seen:
        loader = unpacked(loader, model.unpack)
        reading = batches(loader, model, model.head.n_classes, title=title, progress=progress)
        for number, (x, labels) in enumerate(reading):
            run(model, x, number)
            parts.append(answers_in(model, seen))
            known.append(labels.cpu())
    logits, values = (np.concatenate([getattr(one, k) for one in parts]) for k in KINDS)
    return Answers(logits, values, model.assignment), torch.cat(known).numpy()


def answers_in(model: SparseClassifier, seen: Features) -> Answers:
    """Return what a model has said to a batch."""
    values = model.sparse_head.normalise(seen.features.detach().double())
    logits = seen.logits.detach().double()
    return Answers(logits.cpu().numpy(), values.cpu().numpy(), model.assignment)
