"""The best assignment for a fixed selection, with all classes distinct: provably optimal.

Every class starts with its best set. Only where several classes want the same set is there
something to decide, and that is a matching between classes and sets. Each class that is still
without a set gets one along a cheapest chain of exchanges, in which classes that had their best set
take part as soon as it pays. The sets of a class are listed lazily, best first: a class looks no
further than its first free set.

Thousands of classes that need nearly all sets there are can take minutes. Whoever has a time limit
then gets an assignment with distinct classes that is not the best one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InfeasibleInstance
from qpopt.kernels.matching import best_subsets, insert_units

FIRST_LIST = 8
"""How many sets a class lists when it first needs more than one."""
WORK_PER_CALL = 100_000_000
"""Size of a compiled call: about a tenth of a second. Less is never cut short."""
WORK_OF_LISTING = 100_000
"""What counts for listing the sets of one group."""
MOST_SPARE = 1000
"""How many sets more than it needs a matching that is cut short has to choose from."""
AT_A_TIME = 256
"""Groups whose sets are weighed together there, so that the table of weights stays small."""


def assign(
    A: NDArray[np.float64],
    selection: NDArray[np.int64],
    n_per_class: int,
    *,
    over: Callable[[], bool] = lambda: False,
) -> NDArray[np.bool_]:
    """Give every class the features so that the similarity is largest and no two sets are equal.

    Parameters and result are as for `best_assignment`. Once `over` says that the time is over, the
    classes that still wait take what is left, which may not be best.

    Raises
    ------
    InfeasibleInstance
        If there are fewer sets than classes.
    """
    n_classes = A.shape[0]
    n_sets = comb(len(selection), n_per_class)
    if n_sets < n_classes:
        raise InfeasibleInstance(
            f"{len(selection)} selected features taken {n_per_class} at a time give {n_sets} "
            f"distinct sets, fewer than the {n_classes} classes."
        )
    rows = A[:, selection]
    order = np.argsort(-rows, axis=1, kind="stable")
    best = np.sort(order[:, :n_per_class], axis=1)
    chosen = best
    if len({row.tobytes() for row in best}) < n_classes:
        chosen = Matching(rows, order, n_per_class, n_sets).solve(over)
    assignment = np.zeros(rows.shape, dtype=bool)
    np.put_along_axis(assignment, chosen, True, axis=1)
    return assignment


class Matching:
    """Classes with equal rows form a group; groups own sets; sets are numbered as they turn up."""

    def __init__(
        self, rows: NDArray[np.float64], order: NDArray[np.int64], size: int, n_sets: int
    ) -> None:
        groups: dict[bytes, list[int]] = {}
        for c, row in enumerate(rows):
            groups.setdefault(row.tobytes(), []).append(c)
        self.members = list(groups.values())
        first = [members[0] for members in self.members]
        self.rows = rows[first]
        self.order = order[first]
        self.falling = np.take_along_axis(rows[first], self.order, axis=1)
        self.size = size
        self.n_sets = n_sets
        self.numbers: dict[bytes, int] = {}
        n_groups = len(first)
        self.sets: NDArray[np.int64] = np.empty((n_groups, FIRST_LIST), np.int64)
        self.values: NDArray[np.float64] = np.empty((n_groups, FIRST_LIST))
        self.lengths = np.zeros(n_groups, np.int64)
        self.complete = np.zeros(n_groups, bool)
        self.owner: NDArray[np.int64] = np.full(4 * len(rows), -1, np.int64)
        self.owner_value: NDArray[np.float64] = np.zeros(4 * len(rows))

    def solve(self, over: Callable[[], bool]) -> NDArray[np.int64]:
        """Return the sets of the classes: sorted positions in the selection, one class a row."""
        for g in range(len(self.members)):
            self._list_sets(g, 1)
        utility = self.values[:, 0].copy()
        waiting = []
        for g, members in enumerate(self.members):
            best = self.sets[g, 0]
            free = self.owner[best] < 0
            if free:
                self.owner[best] = g
                self.owner_value[best] = self.values[g, 0]
            waiting += [g] * (len(members) - free)
        pending = np.array(waiting, np.int64)
        inserted, spent = 0, np.zeros(1, np.int64)
        most = WORK_PER_CALL
        while inserted < len(pending):
            if spent[0] > most:
                if over():
                    self._hand_out(pending[inserted:])
                    break
                most = int(spent[0]) + WORK_PER_CALL
            inserted, short = insert_units(
                pending,
                inserted,
                self.sets,
                self.values,
                self.lengths,
                self.complete,
                self.owner,
                self.owner_value,
                utility,
                spent,
                most,
            )
            if short >= 0:
                longer = max(2 * self.lengths[short], len(self.members[short]) + FIRST_LIST)
                self._list_sets(short, min(int(longer), self.n_sets))
                spent[0] += WORK_OF_LISTING
        return self._chosen()

    def _list_sets(self, g: int, count: int) -> None:
        """Extend the list of group `g` to its `count` best sets."""
        positions = self.subsets(g, count)
        known = self.lengths[g]
        fresh = np.sort(self.order[g][positions[known:]], axis=1)
        numbers = [self._number(positions) for positions in fresh]
        if count > self.sets.shape[1]:
            extra = ((0, 0), (0, 2 * count - self.sets.shape[1]))
            self.sets, self.values = np.pad(self.sets, extra), np.pad(self.values, extra)
        self.sets[g, known:count] = numbers
        self.values[g, known:count] = self.falling[g][positions[known:]].sum(axis=1)
        self.lengths[g] = count
        self.complete[g] = count == self.n_sets

    def subsets(self, g: int, count: int) -> NDArray[np.int64]:
        """Return the best sets of group `g` as places in its order, best first."""
        positions: NDArray[np.int64] = best_subsets(self.falling[g], self.size, count)
        return positions

    def every(self) -> Iterator[NDArray[np.int64]]:
        """Yield all sets there are, as sorted columns."""
        return (np.array(s, np.int64) for s in combinations(range(self.rows.shape[1]), self.size))

    def _number(self, positions: NDArray[np.int64]) -> int:
        """Return the number of a set, a new one where it has not turned up before."""
        number = self.numbers.setdefault(positions.tobytes(), len(self.numbers))
        if number >= len(self.owner):
            more = len(self.owner)
            self.owner = np.pad(self.owner, (0, more), constant_values=-1)
            self.owner_value = np.pad(self.owner_value, (0, more))
        return number

    def _hand_out(self, waiting: NDArray[np.int64]) -> None:
        """Give every unit that waits the best free set of its list, or of some that are left."""
        owned = {key for key, number in self.numbers.items() if self.owner[number] >= 0}
        left = (positions for positions in self.every() if positions.tobytes() not in owned)
        spare = np.array(list(islice(left, len(waiting) + MOST_SPARE)))
        numbers = np.array([self._number(positions) for positions in spare])
        members = np.zeros((len(spare), self.rows.shape[1]))
        np.put_along_axis(members, spare, 1.0, axis=1)
        for first in range(0, len(waiting), AT_A_TIME):
            groups = waiting[first : first + AT_A_TIME]
            for g, worth in zip(groups.tolist(), self.rows[groups] @ members.T, strict=True):
                listed = self.sets[g, : self.lengths[g]]
                free = listed[self.owner[listed] < 0]
                if not len(free):
                    worth[self.owner[numbers] >= 0] = -np.inf
                    free = numbers[[worth.argmax()]]
                self.owner[free[0]] = g

    def _chosen(self) -> NDArray[np.int64]:
        """Hand the sets of every group out to its members."""
        features = np.array([np.frombuffer(key, np.int64) for key in self.numbers])
        chosen = np.empty((sum(map(len, self.members)), self.size), np.int64)
        owned: list[list[int]] = [[] for _ in self.members]
        for number, g in enumerate(self.owner[: len(self.numbers)].tolist()):
            if g >= 0:
                owned[g].append(number)
        for members, numbers in zip(self.members, owned, strict=True):
            chosen[members] = features[numbers]
        return chosen
