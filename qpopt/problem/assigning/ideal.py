"""Ideal sets: as many pairs as were asked for, but those that cost least.

Where pairs of classes were named, a solution may have others as well, and some that were named may
be dear. On the same selection, the best assignment is looked for that keeps as many of the pairs
that there are as were named.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidArgument
from qpopt.problem.assigning.program import Program
from qpopt.problem.assigning.rows import add_violated
from qpopt.problem.demands.fulfilment import unmet

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance

Signs = NDArray[np.int8]
Pairs = tuple[tuple[int, int], ...]

LEAST_GAIN = 1e-12
"""What is worth less than this, relative to the largest similarity, is nothing."""


def idealised_instance(instance: Instance) -> Instance:
    """Return the instance whose pairs are a number: that is what idealised solutions solve.

    Raises
    ------
    InvalidArgument
        If there are no pairs, or demands that do not go together with a number of them.
    """
    if not instance.pairs:
        raise InvalidArgument("idealise takes an instance with pairs of classes; it has none.")
    for name in ("max_shared", "budget"):
        if name in instance.demands.stated:
            raise InvalidArgument(
                f"idealise makes pairs a number, which does not go together with {name}."
            )
    return instance.with_demands(pairs=len(instance.pairs))


def ideal_sets(
    target: Instance,
    selection: NDArray[np.int64],
    signs: Signs,
    seconds: float,
    over: Callable[[], bool] = lambda: False,
) -> Signs:
    """Return the best assignment known that keeps so many of the pairs that an assignment has.

    Parameters
    ----------
    target
        The instance that says how many.
    selection, signs
        A feasible assignment of a selection: what is returned is never worth less.
    seconds
        For how long a program in whole numbers may be asked, after single classes were moved.
    over
        Whether time is over.
    """
    found = alike_pairs(signs)
    best = _moved(target, selection, signs.copy(), found, over)
    better = _solved(target, selection, found, seconds, over)
    values = target.A[:, selection]
    if better is not None and float(values[better > 0].sum()) > float(values[best > 0].sum()):
        return better
    return best


def alike_pairs(signs: Signs) -> Pairs:
    """Return the pairs of classes that share all features but one each."""
    used = (signs != 0).astype(np.int64)
    shared, sizes = used @ used.T, used.sum(axis=1)
    return tuple(
        (c, e)
        for c, e in combinations(range(len(signs)), 2)
        if sizes[c] == sizes[e] == shared[c, e] + 1
    )


def _moved(
    target: Instance,
    selection: NDArray[np.int64],
    signs: Signs,
    found: Pairs,
    over: Callable[[], bool],
) -> Signs:
    """Exchange a feature of a class, the best exchange first, as long as that is allowed."""
    values = target.A[:, selection]
    least = LEAST_GAIN * max(float(np.abs(values).max()), 1e-300)
    moved = True
    while moved and not over():
        moved = False
        for c in range(len(signs)):
            out, into = np.flatnonzero(signs[c]), np.flatnonzero(signs[c] == 0)
            gains = values[c, into] - values[c, out][:, None]
            for place in np.argsort(-gains, axis=None, kind="stable").tolist():
                i, j = divmod(place, len(into))
                if gains[i, j] <= least:
                    break
                signs[c, out[i]], signs[c, into[j]] = 0, 1
                if not unmet(target, selection, signs) and _kept(signs, found) >= target.n_pairs:
                    moved = True
                    break
                signs[c, out[i]], signs[c, into[j]] = 1, 0
    return signs


def _kept(signs: Signs, found: Pairs) -> int:
    """Return how many of some pairs still are pairs."""
    first, second = np.array(found).T
    return int((((signs[first] != 0) & (signs[second] == 0)).sum(axis=1) == 1).sum())


def _solved(
    target: Instance,
    selection: NDArray[np.int64],
    found: Pairs,
    seconds: float,
    over: Callable[[], bool],
) -> Signs | None:
    """Return the best assignment by the program in whole numbers, or None where time runs out."""
    program = Program(target, selection, among=found)
    end = monotonic() + seconds
    while (left := end - monotonic()) > 0 and not over():
        answer = program.whole(left)
        if answer.signs is None:
            return None
        if not add_violated(program, answer.signs):
            fits = not unmet(target, selection, answer.signs)
            return answer.signs if fits else None
    return None
