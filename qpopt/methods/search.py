"""The swap search as a method: good solutions in seconds, a proof only where all can be tried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from qpopt.control.incumbent import Incumbent
from qpopt.methods.base import Method, Options, option
from qpopt.problem import validation
from qpopt.problem.constraints import EVERY_DEMAND
from qpopt.search.budget import Budget
from qpopt.search.local_search import search
from qpopt.solvers.base import Solver

PATIENCE = 10.0
"""Seconds without an improvement after which a search without another limit ends."""

SHARE_WITH_PAIRS = 0.6
"""Share of the time for swaps where classes are pairs."""


@dataclass(frozen=True)
class SearchOptions(Options):
    """Options of the method `search`."""

    step_limit: int | None = option(
        None,
        partial(validation.whole_number, least=0),
        "Stop after so many swaps. With one thread and no time limit that is reached first, the "
        "result depends on the seed alone. Where all selections are tried, each counts as well.",
    )
    target: float | None = option(
        None, validation.number, "Stop as soon as the objective is at least this."
    )
    patience: float | None = option(
        None,
        partial(validation.number, least=0.0),
        f"Stop after so many seconds without an improvement: {PATIENCE:g} where there is no limit "
        "of steps.",
    )


def run_search(incumbent: Incumbent, solver: Solver | None, options: SearchOptions) -> None:
    """Search over swaps of features until a limit is reached.

    Where there are so few selections that all of them are tried, the solution is optimal and has a
    bound.
    """
    patience = options.patience
    if patience is None and options.step_limit is None:
        patience = PATIENCE
    target = None if options.target is None else incumbent.scaling.into(options.target)
    seconds, remaining = None, incumbent.clock.remaining
    if incumbent.instance.pairs and remaining is not None:
        # The sets of classes that hang together are looked at again in the end.
        seconds = SHARE_WITH_PAIRS * remaining
    budget = Budget(
        incumbent, steps=options.step_limit, seconds=seconds, target=target, patience=patience
    )
    try:
        if search(incumbent, budget):
            incumbent.tighten(incumbent.objective)
    finally:
        incumbent.details["steps"] = budget.steps


METHOD = Method(
    "search",
    "tabu search over swaps: good solutions in seconds, no proof except by trying all",
    exact=False,
    run=run_search,
    options=SearchOptions,
    demands=EVERY_DEMAND,
)
