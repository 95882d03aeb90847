"""Metric: states that say how they merge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar


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

    @abstractmethod
    def compute(self) -> float:
        """Return the value; NaN without samples."""
