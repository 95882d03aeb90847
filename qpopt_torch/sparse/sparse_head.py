"""SparseHead: selected features, normalised and added up by a fixed assignment."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from qpopt import Solution
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.sparse.adapter import Adapter

DROPOUT = 0.1


class SparseHead(nn.Module):
    """Selected features → dropout → fixed normalisation → fixed 0/1 assignment, without bias.

    With `relu`, a normalised feature below 0, which is its mean in the training data, counts as 0.

    Parameters
    ----------
    selection
        Indices of the selected features.
    assignment
        0/1, classes × selected features.
    mean, std
        Mean and standard deviation of the selected features; a deviation of 0 counts as 1.
    dropout
        Chance that a feature is left out while training.
    adapter
        Gives the features in place of the plain selection.
    relu
        Whether normalised features below 0 count as 0: then a feature is on or off.
    spatial
        Axes of size 1 behind the channels, as a convolution in place of the head would have.

    Attributes
    ----------
    leak
        What is left of a normalised feature below 0 while training a head with `relu`.
    """

    adds_up: ClassVar[bool] = True
    """Whether a logit is the plain sum of features, as explanations say."""

    selection: Tensor
    assignment: Tensor
    mean: Tensor
    std: Tensor

    def __init__(
        self,
        selection: ArrayLike,
        assignment: ArrayLike,
        mean: ArrayLike,
        std: ArrayLike,
        *,
        dropout: float = DROPOUT,
        adapter: Adapter | None = None,
        relu: bool = False,
        spatial: int = 0,
    ) -> None:
        super().__init__()
        chance = isinstance(dropout, Real) and not isinstance(dropout, bool)
        if not chance or not 0 <= dropout <= 1:
            raise ModelError(f"dropout must be a number from 0 to 1, not {shown(dropout)}.")
        try:
            given = [np.asarray(values).astype(np.float32) for values in (assignment, mean, std)]
            chosen = torch.tensor(np.asarray(selection), dtype=torch.int64)
        except (TypeError, ValueError, OverflowError):
            raise ModelError("Selection, assignment, mean and std must be numbers.") from None
        weights, average, deviation = given
        n = len(chosen) if chosen.ndim == 1 else -1
        if weights.ndim != 2 or any(one.shape[-1:] != (n,) for one in given):
            raise ModelError(
                "assignment must have a column, mean and std a number, for every selected feature."
            )
        deviation[deviation == 0] = 1.0
        self.register_buffer("selection", chosen)
        self.register_buffer("assignment", torch.tensor(weights))
        self.register_buffer("mean", torch.tensor(average))
        self.register_buffer("std", torch.tensor(deviation))
        self.dropout = nn.Dropout(dropout)
        self.adapter = adapter
        self.relu, self.leak = relu, 0.0
        self.spatial = spatial

    @classmethod
    def from_solution(
        cls, solution: Solution, mean: ArrayLike, std: ArrayLike, **options: Any
    ) -> SparseHead:
        """Make the head of a solution, given mean and deviation of *all* features."""
        if solution.selection is None or solution.assignment is None:
            raise ModelError(
                f"There is no selection to build a head from: the solve ended {solution.status}."
            )
        kept = [np.asarray(values)[solution.selection] for values in (mean, std)]
        return cls(solution.selection, solution.assignment, *kept, **options)

    @property
    def weight(self) -> Tensor:
        """The assignment: what the weight is in a linear layer."""
        return self.assignment

    def select(self, received: Tensor, *, axis: int = -1) -> Tensor:
        """Return the selected features of what the network gives, which lie along an axis."""
        if self.adapter is None:
            return received.index_select(axis, self.selection)
        features: Tensor = self.adapter(received.movedim(axis, -1)).movedim(-1, axis)
        return features

    def normalise(self, features: Tensor) -> Tensor:
        """Return selected features in standard units, as they are added up."""
        standard = (features - self.mean) / self.std
        if not self.relu:
            return standard
        return F.leaky_relu(standard, self.leak) if self.training else standard.relu()

    def classify(self, features: Tensor) -> Tensor:
        """Return the logits of selected features."""
        return F.linear(self.normalise(self.dropout(features)), self.assignment)

    def forward(self, received: Tensor) -> Tensor:
        """Return the logits of what the network gives."""
        # Features that are at hand have no such axes.
        axes = self.spatial if received.ndim > 2 else 0
        logits = self.classify(self.select(received.flatten(1) if axes else received))
        return logits.reshape(*logits.shape, *[1] * axes)
