"""What the tabu search remembers between its steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.search.integer_instance import IntegerInstance

NEVER = -(2**62)
BIDS_PER_CLASS = 4
"""After so many, an auction takes too long; the hash table has room for them."""


class TabuParams(NamedTuple):
    """How the tabu search steps; a NamedTuple, because the compiled loop reads it.

    Parameters
    ----------
    enter_hold, leave_hold, spread
        A feature that left may not enter, and one that entered may not leave, for the number of
        selected features divided by these in steps; up to that divided by `spread` more, by chance.
    wanted, most_near, most_listed
        How many swaps close to the best are judged exactly: about so many, the most, and the most
        together with barred ones that may lead to a new best.
    first_margin
        How close that is at first, in units: about a thousandth of Z. It adapts itself.
    uncorrected
        Every so many steps the correction is left out: where classes are equal it leads astray.
    n_kept
        How many of the best selections are kept.
    most_looked
        After a look at so many sets, in auctions over thousands of equal classes, a step judges no
        further swap, and a call makes no further step: about a tenth of a second.
    """

    enter_hold: int = 20
    leave_hold: int = 40
    spread: int = 6
    wanted: int = 12
    most_near: int = 64
    most_listed: int = 128
    first_margin: int = 2**16
    uncorrected: int = 4
    n_kept: int = 8
    most_looked: int = 10_000_000


class TabuMemory(NamedTuple):
    """The memory of one tabu search.

    Parameters
    ----------
    params
        How to step.
    random, clock, idle, best
        State of the random numbers, steps so far, steps since the last improvement, best estimate
        of Z in units; one element each.
    margin
        Swaps that weigh less than the best by at most this are judged exactly; adapts itself.
    hold
        Least number of steps for which a feature that left may not enter, and one that entered
        may not leave, and up to how many more.
    enter_after, leave_after
        For every feature the step after which it may enter and leave.
    kept, kept_name, kept_selected
        The best selections at which the search turned downwards, with their estimates.
    weight, loss, peak, candidate, barred, work
        Scratch space of a step.
    """

    params: TabuParams
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
    most_bids
        How many bids there may be before the last ones.
    looked
        How many sets classes have looked at since the search was called; one element.
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
    most_bids: int
    looked: NDArray[np.int64]
    best_name: NDArray[np.uint64]
    list_value: NDArray[np.int32]
    list_key: NDArray[np.uint64]


def new_memory(
    n_features: int, n_select: int, seed: int, params: TabuParams = TabuParams()
) -> TabuMemory:
    """Return a memory of nothing, whose random numbers start at `seed`."""
    hold = [max(n_select // by, 1) for by in (params.enter_hold, params.leave_hold, params.spread)]
    n_kept = params.n_kept
    return TabuMemory(
        params,
        np.array([seed | 1], np.uint64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.full(1, NEVER, np.int64),
        np.full(1, params.first_margin, np.int64),
        np.array(hold, np.int64),
        np.zeros(n_features, np.int64),
        np.zeros(n_features, np.int64),
        np.full(n_kept, NEVER, np.int64),
        np.zeros(n_kept, np.uint64),
        np.zeros((n_kept, n_select), np.int64),
        np.zeros(n_features, np.int32),
        np.zeros(n_select, np.int32),
        np.zeros(n_select, np.int64),
        np.zeros((params.most_listed, 2), np.int64),
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
    # Every class opens a set, every bid at most one more, and every class bids once more at last.
    size = 1 << ((BIDS_PER_CLASS + 4) * n_classes - 1).bit_length()
    return Auction(
        np.zeros(1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.uint64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.ones(1, np.int64),
        BIDS_PER_CLASS * n_classes,
        np.zeros(1, np.int64),
        np.zeros(n_classes, np.uint64),
        np.zeros(problem.n_listed, np.int32),
        np.zeros(problem.n_listed, np.uint64),
    )
