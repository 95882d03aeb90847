"""The first solution of an exact method, from a short search."""

from __future__ import annotations

from functools import partial
from typing import Any

from qpopt.control.incumbent import Incumbent
from qpopt.methods.base import option
from qpopt.problem import validation
from qpopt.search.budget import Budget
from qpopt.search.local_search import search

SHARE_OF_TIME = 0.1
"""The largest part of the time limit that this search may take."""


def search_steps() -> Any:
    """Declare the option that says how long to search."""
    return option(
        2000,
        partial(validation.whole_number, least=0),
        "Length of the search for a first solution, in swaps; 0 for none.",
    )


def search_first(incumbent: Incumbent, steps: int) -> None:
    """Search for so many steps, in a part of the time."""
    if steps:
        seconds = incumbent.clock.share(SHARE_OF_TIME).time_limit
        search(incumbent, Budget(incumbent, seconds=seconds, steps=steps))
