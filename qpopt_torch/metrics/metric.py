"""Metric: states that say how they merge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from operator import add
from typing import Any, ClassVar

import torch
from torch import Tensor


class Metric(ABC):
    """A value that is accumulated: `update` with every batch, `compute` at the end.

    Attributes
    ----------
    title, meaning
        What it is called, and what it says in a few words.
    higher_is_better
        Its direction.
    percent
        What the value is multiplied with to be shown in percent.
    states
        The attributes that grow with every batch, each with the function that merges two of them.
    """

    title: ClassVar[str]
    meaning: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    percent: ClassVar[float] = 1.0
    states: ClassVar[Mapping[str, Callable[[Any, Any], Any]]] = {}

    def merge(self, other: Metric) -> None:
        """Add what another accumulator saw."""
        for name, merged in self.states.items():
            setattr(self, name, merged(getattr(self, name), getattr(other, name)))

    @classmethod
    def better(cls) -> str:
        """Say which way is good: "higher" or "lower"."""
        return "higher" if cls.higher_is_better else "lower"

    @abstractmethod
    def compute(self) -> float:
        """Return the value; NaN without samples."""


class GroupMetric(Metric):
    """A metric of the activation of features in groups of samples, such as classes."""

    states: ClassVar = {"counts": add, "sums": add, "minima": torch.minimum}

    def __init__(self, n_groups: int, n_features: int) -> None:
        self.counts = torch.zeros(n_groups, dtype=torch.float64)
        self.sums = torch.zeros(n_groups, n_features, dtype=torch.float64)
        self.minima = torch.full((n_features,), torch.inf, dtype=torch.float64)

    def add(self, features: Tensor, members: Tensor) -> None:
        """Add a batch: pooled features, and 0 or 1 for every sample and group."""
        if len(features):
            values, inside = features.detach().double().cpu(), members.double().cpu()
            self.counts += inside.sum(dim=0)
            self.sums += inside.T @ values
            self.minima = torch.minimum(self.minima, values.amin(dim=0))
