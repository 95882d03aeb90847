"""SparseHead: selected features, normalised and added up by a fixed assignment."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from qpopt import Solution
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.statistics.statistics import Statistics

DROPOUT = 0.1


class SparseHead(nn.Module):
    """Selected features → dropout → fixed normalisation → fixed assignment, mostly without bias.

    With `relu`, a normalised feature below 0, which is its mean in the training data, counts as 0.

    Parameters
    ----------
    selection
        Indices of the selected features.
    assignment
        Classes × selected features: 0 and 1, or −1 where a feature must be absent.
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
    class_bias
        Where classes differ in how many features they have, what is added to the logit for each
        feature that a class has fewer than the average: then the logits of small and large classes
        can be compared. None or 0 adds nothing; where all classes have as many, nothing is added.

    Attributes
    ----------
    leak
        What is left of a normalised feature below 0 while training a head with `relu`.
    """

    selection: Tensor
    assignment: Tensor
    mean: Tensor
    std: Tensor
    class_bias: Tensor | None

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
        class_bias: float | None = None,
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
        offsets = None
        if class_bias is not None and (fewer := fewer_features(self.assignment)).any():
            if not isinstance(class_bias, Real) or not np.isfinite(class_bias):
                raise ModelError(f"class_bias must be a finite number, not {shown(class_bias)}.")
            offsets = class_bias * fewer if class_bias else None
        # Without an offset there is no buffer: files of other models do not have one either.
        self.register_buffer("class_bias", offsets, persistent=offsets is not None)
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
    def adds_up(self) -> bool:
        """Whether a logit is the plain sum of features, as explanations say."""
        return self.class_bias is None and not bool((self.assignment < 0).any())

    @property
    def weight(self) -> Tensor:
        """The assignment: what the weight is in a linear layer."""
        return self.assignment

    @property
    def constants(self) -> Tensor:
        """What is added to the logits: what the bias is in a linear layer."""
        none = self.assignment.new_zeros(len(self.assignment))
        return none if self.class_bias is None else self.class_bias

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
        """Return the logits of selected features, added up in the precision of the model."""
        values = self.normalise(self.dropout(features))
        if torch.is_autocast_enabled(values.device.type):
            with torch.autocast(values.device.type, enabled=False):
                return F.linear(values, self.assignment, self.class_bias)
        return F.linear(values, self.assignment, self.class_bias)

    def forward(self, received: Tensor) -> Tensor:
        """Return the logits of what the network gives."""
        # Features that are at hand have no such axes.
        axes = self.spatial if received.ndim > 2 else 0
        logits = self.classify(self.select(received.flatten(1) if axes else received))
        return logits.reshape(*logits.shape, *[1] * axes)


def fewer_features(assignment: Tensor) -> Tensor:
    """Return how many features every class has fewer than the average."""
    sizes = (assignment != 0).sum(1).to(assignment.dtype)
    return sizes.mean() - sizes


def expected_value(assignment: ArrayLike, class_means: ArrayLike) -> float:
    """Return what a feature adds, on average, to the logit of a class on its own samples.

    As `class_bias` it gives all classes about the same expected logit, however many features they
    have.

    Parameters
    ----------
    assignment
        Classes × selected features, with signs.
    class_means
        The mean of every feature, as it is added up, over the samples of every class.
    """
    signs = np.asarray(assignment, dtype=np.float64)
    used = signs != 0
    return float((signs * np.asarray(class_means, dtype=np.float64))[used].mean())


def average_value(solution: Solution, statistics: Statistics, relu: bool) -> float | None:
    """Return what a feature adds on average; None where all classes have as many."""
    if solution.selection is None or solution.assignment is None:
        return None
    used = np.asarray(solution.assignment) != 0
    if (used.sum(axis=1) == used[0].sum()).all():
        return None
    if relu:
        raise ModelError(
            "With relu and budgets that differ, the class bias cannot be told from statistics; "
            "give class_bias, or use sparsify, which measures it."
        )
    chosen = solution.selection
    std = np.where(statistics.std == 0, 1.0, statistics.std)[chosen]
    means = statistics.class_sums[:, chosen] / statistics.counts[:, None]
    return expected_value(solution.assignment, (means - statistics.mean[chosen]) / std)
