"""The first solution of an exact method, from a short search."""

from __future__ import annotations

from qpopt.control.incumbent import Incumbent
from qpopt.search.local_search import search

SEARCH_STEPS = 2000
"""Swaps of the search before an exact method; the option `search_steps` changes it."""
SHARE_OF_TIME = 0.1
"""The largest part of the time limit that this search may take."""


def search_first(incumbent: Incumbent) -> None:
    """Offer the result of a short search to the incumbent, unless the option says 0 steps."""
    settings = incumbent.settings
    steps = settings.option("search_steps", SEARCH_STEPS)
    if steps == 0:
        return
    incumbent.say("searching for a start")
    limit = incumbent.remaining
    result = search(
        incumbent.instance,
        time_limit=None if limit is None else SHARE_OF_TIME * limit,
        step_limit=steps,
        seed=settings.seed,
        start=None if settings.start is None else settings.start.selection,
        on_progress=incumbent.hear,
    )
    incumbent.offer(result.selection, result.assignment)
    if result.interrupted:
        raise KeyboardInterrupt
