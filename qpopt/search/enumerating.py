"""Looking at every selection of a part that is small enough."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from time import perf_counter

from qpopt.control.incumbent import Incumbent
from qpopt.problem.assignment import assign
from qpopt.problem.subproblem import Reduced
from qpopt.search.enumeration import Enumeration, Relaxation

MOST_SELECTIONS = 10**16
"""Parts with more selections are not worth a try: pruning leaves too many."""

WORK_AT_ONCE = 50_000_000
"""Additions between two looks at the clock: well below a second."""


def n_selections(reduced: Reduced) -> int:
    """Return how many selections a part has."""
    return comb(reduced.n_free, reduced.n_select)


def enumerate_part(
    incumbent: Incumbent,
    reduced: Reduced,
    seconds: float,
    stop: Callable[[], bool],
    relaxation: Relaxation | None = None,
) -> bool:
    """Look at all selections of a part that may be better than the incumbent, for some time.

    Parameters
    ----------
    incumbent
        Gets better solutions.
    reduced
        The part, with at least one feature to select and as many free ones.
    seconds
        When to give up.
    stop
        Asked from time to time; when it says so, the rest is left.
    relaxation
        What is known of the part; see `Enumeration`.

    Returns
    -------
    bool
        Whether all have been looked at: the part then holds nothing better than the incumbent.
    """
    instance = incumbent.instance
    part = Enumeration(reduced, relaxation)
    steps = max(1, WORK_AT_ONCE // (reduced.n_classes * reduced.n_free))
    until = perf_counter() + seconds
    while not part.finished:
        if perf_counter() > until or stop():
            return False
        for selection in part.advance(incumbent.objective, steps):
            incumbent.offer(selection, assign(instance.A, selection, instance.n_per_class))
    return True
