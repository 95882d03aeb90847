"""Keeping the best few of many, as they pass by."""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


class Item(NamedTuple):
    """Something kept: sorted by falling score, ties by rising index."""

    negative_score: float
    sample: int
    group: int


class TopSamples:
    """The `size` items with the highest scores under every key, at most `per_group` of a group.

    The result does not depend on the order in which items are offered.

    Parameters
    ----------
    size
        How many items are kept under a key.
    per_group
        How many of them may belong to one group; None for any number.
    """

    def __init__(self, size: int, per_group: int | None = None) -> None:
        self.size = size
        self.per_group = per_group
        self.items: dict[Hashable, list[Item]] = {}

    def offer(self, key: Hashable, score: float, index: int, group: int = 0) -> None:
        """Keep an item if it is good enough."""
        items = self.items.setdefault(key, [])
        item = Item(-score, index, group)
        if len(items) >= self.size and (not items or item >= items[-1]):
            return
        insort(items, item)
        if self.per_group is not None:
            same = [other for other in items if other.group == group]
            if len(same) > self.per_group:
                items.remove(same[-1])
        del items[self.size :]

    def offer_all(
        self, key: Hashable, scores: NDArray[np.float64], first: int, groups: Sequence[int] | Tensor
    ) -> None:
        """Offer items with rising indices under one key; most are not good enough at a glance."""
        kept = self.items.get(key, [])
        least = -kept[-1].negative_score if len(kept) == self.size else -np.inf
        for i in np.flatnonzero(scores >= least).tolist():
            self.offer(key, scores[i], first + i, int(groups[i]))

    def of(self, key: Hashable) -> tuple[int, ...]:
        """Return the indices under a key, best first."""
        return tuple(item.sample for item in self.items.get(key, ()))

    def __iter__(self) -> Iterator[int]:
        """Iterate over all kept indices; some may come twice."""
        return (item.sample for items in self.items.values() for item in items)
