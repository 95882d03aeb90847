"""Enumeration: all selections of a small part that may be better than the best one known.

A depth-first search. What the classes gain from a selection without uniqueness is submodular, and
redundancy is never negative, so the value of a part is at most its present value plus the largest
gains of its candidates, each taken by itself. Candidates are tried in the order of these gains: as
soon as one is hopeless, so are all after it.

A relaxation may help: where Z ≤ offset + sᵀQs is known for all selections and Q is hardly positive
off its diagonal, every pair of chosen features uses up some of the offset.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Clock
from qpopt.kernels.enumeration import better_selections
from qpopt.problem.subproblem import Floats, Indices, Subproblem

MOST_SELECTIONS = 10**16
"""Parts with more selections are not worth a try: pruning leaves too many."""

WORK_AT_ONCE = 50_000_000
"""Additions between two looks at the clock: well below a second."""

MOST_FOUND = 32
"""How many selections are handed out at once: their values may spare looking at later ones."""

ROUNDING = 1e-9
"""Relative to the objective: far more than the order of summation changes."""

LOST_IN_SUMS = 1e-12
"""What adding up may lose, relative to the largest sum that could occur: more than Z where terms
of Z cancel out."""


class Relaxation(NamedTuple):
    """A function that Z does not exceed: offset + sᵀQs, for selections s of the free features."""

    offset: float
    Q: NDArray[np.float64]


class EnumerationProblem(NamedTuple):
    """What the compiled loop needs of a part.

    Parameters
    ----------
    columns
        Similarity, free features × classes.
    R, Q
        Redundancy, and what pairs add to the relaxed value: never more than 0 off the diagonal.
    n_per_class, n_included
        Features per class, and features decided before.
    """

    columns: Floats
    R: Floats
    Q: Floats
    n_per_class: int
    n_included: int


class EnumerationStack(NamedTuple):
    """Where the depth-first search stands: arrays with a row a depth, and the present depth.

    Parameters
    ----------
    top, places
        For every class the k + 1 best values so far and their places in the selection.
    values, relaxed_values
        The value of the features chosen so far, and their relaxed value.
    candidates, linear, gains, relaxed
        The features still to choose from, by falling gain; their bias less redundancy with those
        chosen; their gains; what each adds to the relaxed value.
    reserve
        The most that all but one of those still to choose can add to the relaxed value.
    lengths, following
        How many candidates there are, and the next one to choose: −1 where the depth is new.
    depth
        How many features are chosen; one element.
    """

    top: Floats
    places: Indices
    values: Floats
    relaxed_values: Floats
    candidates: Indices
    linear: Floats
    gains: Floats
    relaxed: Floats
    reserve: Floats
    lengths: Indices
    following: Indices
    depth: Indices


def _new_stack(sub: Subproblem, offset: float, relaxed: Floats) -> EnumerationStack:
    """Return the search at its beginning."""
    n, m, q, k = sub.n_free, sub.n_select, sub.n_classes, sub.n_per_class
    linear, gains, gained = np.empty((3, m, n))
    stack = EnumerationStack(
        np.empty((m, q, k + 1)), np.full((m, q, k + 1), -1), np.empty(m), np.empty(m),
        np.empty((m, n), dtype=np.int64), linear, gains, gained, np.empty(m),
        np.full(m, n), np.full(m, -1), np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    # Until a class has enough features, its places are held by some that are worse than all.
    least = np.min(sub.columns(), axis=1)
    stack.top[0] = (least - np.maximum(1.0, np.abs(least)))[:, None]
    best = np.argsort(-sub.forced, axis=1, kind="stable")[:, : k + 1]
    known = best.shape[1]
    stack.top[0, :, :known] = np.take_along_axis(sub.forced, best, axis=1)
    stack.places[0, :, :known] = best
    stack.values[0] = sub.constant + float(stack.top[0, :, :k].sum())
    stack.relaxed_values[0] = offset
    stack.candidates[0] = np.arange(n)
    stack.linear[0], stack.relaxed[0] = sub.b, relaxed
    return stack


class Enumeration:
    """The selections of a subproblem, gone through once.

    Parameters
    ----------
    sub
        The problem, with at least one feature to select and as many free ones.
    relaxation
        What is known of Z; None where nothing is.
    """

    def __init__(self, sub: Subproblem, relaxation: Relaxation | None = None) -> None:
        n, m = sub.n_free, sub.n_select
        offset, Q = relaxation or Relaxation(inf, np.zeros((n, n)))
        diagonal = np.diagonal(Q).copy()
        # What is positive off the diagonal is paid at once, for all pairs.
        excess = max(0.0, float((Q - np.diag(diagonal)).max()))
        self.finished = False
        self._sub = sub
        self._problem = EnumerationProblem(
            np.ascontiguousarray(sub.A.T), sub.R, Q - excess, sub.n_per_class, len(sub.included)
        )
        self._stack = _new_stack(sub, offset + m * (m - 1) * excess, diagonal)
        self._found = np.empty((MOST_FOUND, m), dtype=np.int64)
        similarity = sub.n_per_class * float(np.abs(sub.columns()).max(axis=1).sum())
        redundancy, bias = m**2 * float(sub.R.max()), m * float(np.abs(sub.b).max())
        largest = abs(sub.constant) + similarity + redundancy + bias
        self._margin = LOST_IN_SUMS * max(largest, m * m * float(np.abs(Q).max()))

    def advance(self, objective: float, steps: int) -> list[Indices]:
        """Go on for so many parts and selections; return those that may be better than `objective`.

        They are whole selections, sorted. Every better one is in some answer by the time `finished`
        is true.
        """
        if self.finished:
            return []
        limit = objective - self._margin
        if objective > -inf:
            limit -= ROUNDING * max(1.0, abs(objective))
        count, self.finished = better_selections(
            self._problem, self._stack, limit, steps, self._found
        )
        free, included = self._sub.free, self._sub.included
        return [np.union1d(included, free[row]) for row in self._found[:count]]

    def offer_all(self, incumbent: Incumbent, steps: int, over: Callable[[], bool]) -> bool:
        """Let the incumbent judge every selection that may be better; False if over before.

        Whether it is over is asked every so many steps.
        """
        while not self.finished:
            if over():
                return False
            for selection in self.advance(incumbent.objective, steps):
                incumbent.settle(selection)
        return True


def n_selections(sub: Subproblem) -> int:
    """Return how many selections a part has."""
    return comb(sub.n_free, sub.n_select)


def enumerate_part(
    incumbent: Incumbent, sub: Subproblem, seconds: float, relaxation: Relaxation | None = None
) -> bool:
    """Look at all selections of a part that may be better than the incumbent, for some seconds.

    The incumbent gets better solutions; where its time is up, the rest is left. Tell whether all
    have been looked at: the part then holds nothing better. All else is as for `Enumeration`.
    """
    steps = max(1, WORK_AT_ONCE // (sub.n_classes * sub.n_free))
    clock = Clock(incumbent.clock.share(most=seconds))
    return Enumeration(sub, relaxation).offer_all(incumbent, steps, lambda: clock.over)
