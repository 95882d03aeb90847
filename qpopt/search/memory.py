"""What the tabu search remembers between its steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_KEPT = 8
MOST_LISTED = 128
NEVER = -(2**62)


class Memory(NamedTuple):
    """The memory of one tabu search.

    Parameters
    ----------
    random, clock, idle, best
        State of the random numbers, steps so far, steps since the last improvement, best estimate
        of Z in units; one element each.
    margin
        Swaps that weigh less than the best by at most this are judged exactly; adapts itself.
    hold
        Least number of steps for which a feature that left may not enter, and one that entered
        may not leave.
    enter_after, leave_after
        For every feature the step after which it may enter and leave.
    kept, kept_name, kept_selected
        The best selections at which the search turned downwards, with their estimates.
    weight, loss, peak, candidate, barred, work
        Scratch space of a step.
    """

    random: NDArray[np.uint64]
    clock: NDArray[np.int64]
    idle: NDArray[np.int64]
    best: NDArray[np.int64]
    margin: NDArray[np.int64]
    hold: NDArray[np.int64]
    enter_after: NDArray[np.int64]
    leave_after: NDArray[np.int64]
    kept: NDArray[np.int64]
    kept_name: NDArray[np.uint64]
    kept_selected: NDArray[np.int64]
    weight: NDArray[np.int32]
    loss: NDArray[np.int32]
    peak: NDArray[np.int64]
    candidate: NDArray[np.int64]
    barred: NDArray[np.int64]
    work: NDArray[np.int32]


class Table(NamedTuple):
    """A hash table of the classes' sets.

    Parameters
    ----------
    stamp
        Which use of the table this is; slots of earlier uses count as empty.
    entered, name, gap, member
        Per slot: the use it was filled in, the set, and the largest gap of its classes with the
        class that has it.
    n_payers, payer, paid
        The classes that must give up their best set, and what that costs each.
    n_list, list_value, list_key
        Scratch space: the best values of one class and the keys of their features.
    """

    stamp: NDArray[np.int64]
    entered: NDArray[np.int64]
    name: NDArray[np.uint64]
    gap: NDArray[np.int32]
    member: NDArray[np.int64]
    n_payers: NDArray[np.int64]
    payer: NDArray[np.int64]
    paid: NDArray[np.int64]
    n_list: NDArray[np.int64]
    list_value: NDArray[np.int32]
    list_key: NDArray[np.uint64]


def new_memory(n_features: int, n_select: int, seed: int, hold: tuple[int, int]) -> Memory:
    """Return a memory of nothing, whose random numbers start at `seed`."""
    return Memory(
        np.array([seed | 1], np.uint64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.full(1, NEVER, np.int64),
        np.ones(1, np.int64),
        np.array(hold, np.int64),
        np.zeros(n_features, np.int64),
        np.zeros(n_features, np.int64),
        np.full(N_KEPT, NEVER, np.int64),
        np.zeros(N_KEPT, np.uint64),
        np.zeros((N_KEPT, n_select), np.int64),
        np.zeros(n_features, np.int32),
        np.zeros(n_select, np.int32),
        np.zeros(n_select, np.int64),
        np.zeros((MOST_LISTED, 2), np.int64),
        np.zeros(n_features, np.int64),
        np.zeros((3, n_features), np.int32),
    )


def forget(memory: Memory) -> None:
    """Make the memory ready for another start; random numbers and margin go on."""
    memory.clock[0] = 0
    memory.idle[0] = 0
    memory.best[0] = NEVER
    memory.enter_after[:] = 0
    memory.leave_after[:] = 0
    memory.kept[:] = NEVER
    memory.kept_name[:] = 0


def new_table(n_classes: int, n_per_class: int) -> Table:
    """Return a table with room for the sets of all classes."""
    size = 1 << (4 * n_classes - 1).bit_length()
    return Table(
        np.zeros(1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.uint64),
        np.zeros(size, np.int32),
        np.zeros(size, np.int64),
        np.zeros(1, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(1, np.int64),
        np.zeros(n_per_class + 2, np.int32),
        np.zeros(n_per_class + 2, np.uint64),
    )
