"""Handing what is left of a proof to the MIP solver, once it is small enough."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

import numpy as np

from qpopt.control.events import Event, Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.errors import InfeasibleInstance, SolverFailure
from qpopt.models.compact import compact_sizes
from qpopt.problem.solution import Candidate
from qpopt.problem.subproblem import Indices, Subproblem, restricted
from qpopt.proofs.record import RecordedPart

SOLVER = "HiGHS"
"""Gets what is left where that is small: it is always there."""

Finish = Callable[[Incumbent], None]
"""Builds the model of an incumbent's instance and lets a MIP solver work on it."""


def hand_over(
    incumbent: Incumbent,
    part: Subproblem,
    limits: Limits,
    finish: Finish,
    most_variables: int,
    record: RecordedPart | None = None,
) -> bool:
    """Let the MIP solver look for something better in a part; tell whether it has closed the gap.

    Parameters
    ----------
    incumbent
        Gets better solutions, and the bound of the solver; nothing outside the part may be better
        than its best solution.
    part
        What is left; nothing is handed over where there is nothing to choose.
    limits, finish
        When to give up, and what lets the solver work.
    most_variables
        Larger models are not handed over.
    record
        Gets what the solver says, which nothing shows.
    """
    features = np.union1d(part.free, part.included)
    # Columns that stand for a demand are no features.
    features = features[features < incumbent.instance.n_features]
    nothing = not 0 < part.n_select <= part.n_free
    if nothing or len(features) * (1 + part.n_classes) > most_variables:
        return False
    try:
        instance = restricted(incumbent.instance, features, np.intersect1d(part.included, features))
    except InfeasibleInstance:
        incumbent.tighten(incumbent.objective)
        return True
    if compact_sizes(instance)[-1].variables > most_variables:
        return False

    def pass_on(event: Event) -> None:
        incumbent.enter(event.phase, f"{len(features)} features: {event.note}")

    inner = Incumbent(instance, limits, start=_start(incumbent, features), on_event=pass_on)
    try:
        inner.run(lambda: finish(inner))
    except SolverFailure as error:
        # The proof has other means to go on; what a solver that failed has said is not believed.
        incumbent.enter(Phase.MIP, str(error))
        inner.bound = inf
    if inner.best is not None:
        if instance.demands:
            incumbent.offer(Candidate(features[inner.best.selection], inner.best.assignment))
        incumbent.judge(features[inner.best.selection])
    bound = max(-inf if inner.infeasible else inner.bound, incumbent.objective)
    if record is not None and isfinite(bound):
        record.claim_that(SOLVER, bound)
    incumbent.tighten(bound)
    if inner.interrupted:
        raise KeyboardInterrupt
    return incumbent.proven


def _start(incumbent: Incumbent, features: Indices) -> Candidate | None:
    """Return the best solution in terms of the features of a part, if they hold it."""
    if incumbent.best is None or not np.isin(incumbent.best.selection, features).all():
        return None
    selection, assignment = incumbent.best
    return Candidate(np.searchsorted(features, selection), assignment)
