"""Keys: the indices of components and the members of sets, as arrays of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Refusal(Exception):
    """Raised for what cannot be read as arrays."""


class Keys:
    """Keys that were read once are kept: components share their sets.

    Every array has one row for each key and one column for each part of it.
    """

    def __init__(self) -> None:
        self._members: dict[int, Integers] = {}
        self._positions: dict[int, _Positions] = {}

    def of(self, component: Any) -> Integers:
        """Return the keys of a component."""
        if not component.is_indexed():
            return np.zeros((1, 0), dtype=np.int64)
        index = component.index_set()
        if len(component) < len(index):
            return _rows(list(component.keys()), index.dimen)
        return self.members(index)

    def members(self, members: Any) -> Integers:
        """Return the members of a set, or of a product of sets."""
        if id(members) not in self._members:
            parts = list(members.subsets())
            if len(parts) == 1:
                keys = _rows(list(members), members.dimen)
            else:
                keys = np.zeros((1, 0), dtype=np.int64)
                for part in map(self.members, parts):
                    before = np.repeat(keys, len(part), axis=0)
                    keys = np.hstack([before, np.tile(part, (len(keys), 1))])
            self._members[id(members)] = keys
        return self._members[id(members)]

    def positions(self, component: Any, index: Sequence[Integers], n: int) -> Integers:
        """Return where `n` keys, given column by column, stand in a component."""
        if id(component) not in self._positions:
            self._positions[id(component)] = _Positions(self.of(component))
        return self._positions[id(component)].of(index, n)


class _Positions:
    """Where the keys of a component stand among its members."""

    def __init__(self, keys: Integers) -> None:
        self.low = keys.min(axis=0, initial=0)
        self.span = keys.max(axis=0, initial=0) - self.low + 1
        if prod(self.span.tolist()) >= np.iinfo(np.int64).max:
            raise Refusal
        codes = self._codes(list(keys.T), len(keys))
        self.order = np.argsort(codes, kind="stable")
        self.codes = codes[self.order]

    def of(self, index: Sequence[Integers], n: int) -> Integers:
        """Return the positions of `n` keys, given column by column."""
        if len(index) != len(self.low):
            raise Refusal
        codes = self._codes(index, n)
        places = np.searchsorted(self.codes, codes)
        if (places == len(self.codes)).any() or (self.codes[places] != codes).any():
            raise Refusal
        return np.asarray(self.order[places], dtype=np.int64)

    def _codes(self, index: Sequence[Integers], n: int) -> Integers:
        codes = np.zeros(n, dtype=np.int64)
        for column, low, span in zip(index, self.low, self.span, strict=True):
            if ((column < low) | (column >= low + span)).any():
                raise Refusal
            codes = codes * span + (column - low)
        return codes


def _rows(keys: list[Any], dimension: Any) -> Integers:
    if type(dimension) is not int:
        raise Refusal
    rows = np.array(keys) if keys else np.zeros(0, dtype=np.int64)
    if rows.dtype != np.int64 or rows.size != len(keys) * dimension:
        raise Refusal
    return rows.reshape(len(keys), dimension)
