"""Enumeration: all selections of a small part that may be better than the best one known.

A depth-first search. What the classes gain from a selection without uniqueness is submodular, and
redundancy is never negative, so the value of a part is at most its present value plus the largest
gains of its candidates, each taken by itself. Candidates are tried in the order of these gains: as
soon as one is hopeless, so are all after it.

A relaxation may help: where Z ≤ offset + sᵀQs is known for all selections and Q is hardly positive
off its diagonal, every pair of chosen features uses up some of the offset.
"""

from __future__ import annotations

from math import comb, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Clock
from qpopt.kernels.enumeration import better_selections
from qpopt.problem.subproblem import Indices, Subproblem

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
        n, m, k = sub.n_free, sub.n_select, sub.n_per_class
        q, n_included = sub.n_classes, len(sub.included)
        self.finished = False
        self._sub = sub
        self._columns = np.ascontiguousarray(sub.A.T)
        # Until a class has enough features, its places are held by some that are worse than all.
        least = np.min(sub.columns(), axis=1)
        worst = least - np.maximum(1.0, np.abs(least))
        self._top = np.empty((m, q, k + 1))
        self._top[0] = worst[:, None]
        self._places = np.full((m, q, k + 1), -1, dtype=np.int64)
        best = np.argsort(-sub.forced, axis=1, kind="stable")[:, : k + 1]
        known = best.shape[1]
        self._top[0, :, :known] = np.take_along_axis(sub.forced, best, axis=1)
        self._places[0, :, :known] = best
        self._values = np.empty(m)
        self._values[0] = sub.constant + float(self._top[0, :, :k].sum())
        self._candidates = np.empty((m, n), dtype=np.int64)
        self._candidates[0] = np.arange(n)
        self._linear = np.empty((m, n))
        self._linear[0] = sub.b
        self._gains = np.empty((m, n))
        self._lengths = np.zeros(m, dtype=np.int64)
        self._lengths[0] = n
        self._next = np.full(m, -1, dtype=np.int64)
        self._depth = np.zeros(1, dtype=np.int64)
        self._n_included = n_included
        offset, Q = (inf, np.zeros((n, n))) if relaxation is None else relaxation
        diagonal = np.diagonal(Q).copy()
        # What is positive off the diagonal is paid at once, for all pairs.
        excess = max(0.0, float((Q - np.diag(diagonal)).max()))
        self._Q = np.ascontiguousarray(Q - excess)
        self._relaxed_values = np.empty(m)
        self._relaxed_values[0] = offset + m * (m - 1) * excess
        self._relaxed = np.empty((m, n))
        self._relaxed[0] = diagonal
        self._reserve = np.empty(m)
        self._found = np.empty((MOST_FOUND, m), dtype=np.int64)
        self._margin = LOST_IN_SUMS * max(_largest_sum(sub), m * m * float(np.abs(Q).max()))

    def advance(self, objective: float, steps: int) -> list[Indices]:
        """Go on for a while; return selections that may be better than `objective`.

        Parameters
        ----------
        objective
            The Z of the best solution known.
        steps
            The most parts and selections to look at.

        Returns
        -------
        list of NDArray
            Whole selections, sorted. Every better one is in some answer by the time `finished` is
            true.
        """
        if self.finished:
            return []
        limit = objective - self._margin
        if objective > -inf:
            limit -= ROUNDING * max(1.0, abs(objective))
        count, self.finished = better_selections(
            self._columns, self._sub.R, self._Q, self._sub.n_per_class, self._n_included,
            limit, steps, self._top, self._places, self._values, self._candidates, self._linear,
            self._gains, self._relaxed_values, self._relaxed, self._reserve, self._lengths,
            self._next, self._depth, self._found,
        )  # fmt: skip
        return [self._selection(row) for row in self._found[:count]]

    def _selection(self, positions: NDArray[np.int64]) -> Indices:
        return np.union1d(self._sub.included, self._sub.free[positions])


def n_selections(sub: Subproblem) -> int:
    """Return how many selections a part has."""
    return comb(sub.n_free, sub.n_select)


def enumerate_part(
    incumbent: Incumbent, sub: Subproblem, seconds: float, relaxation: Relaxation | None = None
) -> bool:
    """Look at all selections of a part that may be better than the incumbent, for some time.

    Parameters
    ----------
    incumbent
        Gets better solutions; where its time is up, the rest is left.
    sub
        The part, with at least one feature to select and as many free ones.
    seconds
        When to give up.
    relaxation
        What is known of the part; see `Enumeration`.

    Returns
    -------
    bool
        Whether all have been looked at: the part then holds nothing better than the incumbent.
    """
    part = Enumeration(sub, relaxation)
    steps = max(1, WORK_AT_ONCE // (sub.n_classes * sub.n_free))
    clock = Clock(incumbent.clock.share(most=seconds))
    while not part.finished:
        if clock.over:
            return False
        for selection in part.advance(incumbent.objective, steps):
            incumbent.judge(selection)
    return True


def _largest_sum(sub: Subproblem) -> float:
    similarity = sub.n_per_class * float(np.abs(sub.columns()).max(axis=1).sum())
    redundancy = sub.n_select**2 * float(sub.R.max())
    bias = sub.n_select * float(np.abs(sub.b).max())
    return abs(sub.constant) + similarity + redundancy + bias
