"""What the tabu search remembers between its steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.search.integer_instance import IntegerInstance

N_KEPT = 8
MOST_LISTED = 128
FIRST_MARGIN = 2**16
"""About a thousandth of Z."""
NEVER = -(2**62)


class TabuMemory(NamedTuple):
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


class Auction(NamedTuple):
    """The sets that classes hold or bid for, in a hash table, and who pays how much.

    Parameters
    ----------
    stamp
        Which auction this is; slots of earlier ones count as empty.
    entered, name, price, owner
        Per slot: the auction it was filled in, the set, its price and the class that has it.
    paid
        For every class what its set is worth less than its best one.
    waiting
        The classes without a set.
    step
        The least raise; one element.
    best_name
        Scratch space: for every class the name of its best set.
    list_value, list_key
        Scratch space: the best values of one class and the keys of their features.
    """

    stamp: NDArray[np.int64]
    entered: NDArray[np.int64]
    name: NDArray[np.uint64]
    price: NDArray[np.int64]
    owner: NDArray[np.int64]
    paid: NDArray[np.int64]
    waiting: NDArray[np.int64]
    step: NDArray[np.int64]
    best_name: NDArray[np.uint64]
    list_value: NDArray[np.int32]
    list_key: NDArray[np.uint64]


def new_memory(n_features: int, n_select: int, seed: int, hold: tuple[int, int]) -> TabuMemory:
    """Return a memory of nothing, whose random numbers start at `seed`."""
    return TabuMemory(
        np.array([seed | 1], np.uint64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.full(1, NEVER, np.int64),
        np.full(1, FIRST_MARGIN, np.int64),
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
        np.zeros(n_features, np.int32),
    )


def forget(memory: TabuMemory) -> None:
    """Make the memory ready for another start; random numbers and margin go on."""
    memory.clock[0] = 0
    memory.idle[0] = 0
    memory.best[0] = NEVER
    memory.enter_after[:] = 0
    memory.leave_after[:] = 0
    memory.kept[:] = NEVER
    memory.kept_name[:] = 0


def new_auction(problem: IntegerInstance) -> Auction:
    """Return an auction with room for the sets of all classes."""
    n_classes = problem.A.shape[0]
    # Every class opens a set, every bid at most one more, and there are at most 5 n_classes bids.
    size = 1 << (8 * n_classes - 1).bit_length()
    return Auction(
        np.zeros(1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.uint64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.ones(1, np.int64),
        np.zeros(n_classes, np.uint64),
        np.zeros(problem.n_listed, np.int32),
        np.zeros(problem.n_listed, np.uint64),
    )
