"""Handing what is left of a proof to the MIP solver, once it is small enough."""

from __future__ import annotations

import numpy as np

from qpopt.control.incumbent import Incumbent
from qpopt.control.settings import Settings, Start
from qpopt.errors import SolverFailure
from qpopt.methods.compact import run_compact
from qpopt.models.compact import compact_size
from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.solution import TracePoint
from qpopt.problem.subproblem import Indices, Reduced
from qpopt.solvers.registry import find_solver

SOLVER = "highs"
"""The solver that is always there."""

MOST_VARIABLES = 4000
"""Larger compact models are not closed before branching on semidefinite bounds closes them."""


def hand_over(incumbent: Incumbent, part: Reduced, seconds: float) -> bool:
    """Let the MIP solver look for something better in a part, for some time.

    Parameters
    ----------
    incumbent
        Gets better solutions, and the bound of the solver; nothing outside the part may be better
        than its best solution.
    part
        What is left, with at least one feature to select and as many free ones.
    seconds
        When to give up.

    Returns
    -------
    bool
        Whether the solver was asked and has closed the gap.
    """
    instance = _restricted(incumbent.instance, part)
    if compact_size(instance, quadratic=False).variables > MOST_VARIABLES:
        return False
    features = np.union1d(part.free, part.included)

    def pass_on(point: TracePoint, note: str) -> None:
        incumbent.say(f"{SOLVER} on {len(features)} features: {note}")

    settings = incumbent.settings
    inner = Incumbent(
        instance,
        Settings(
            time_limit=seconds,
            gap=settings.gap,
            seed=settings.seed,
            threads=settings.threads,
            start=_start(incumbent, features),
            report=pass_on,
        ),
        method="compact",
        solver=SOLVER,
    )
    try:
        inner.run(lambda: run_compact(inner, find_solver(SOLVER), quadratic=False))
    except SolverFailure as error:
        # The proof has other means to go on.
        incumbent.say(str(error))
    if inner.best is not None:
        selection = features[inner.best.selection]
        whole = incumbent.instance
        incumbent.offer(selection, assign(whole.A, selection, whole.n_per_class))
    incumbent.lower_bound(max(inner.bound, incumbent.objective))
    if inner.interrupted:
        raise KeyboardInterrupt
    return incumbent.proven


def _restricted(instance: Instance, part: Reduced) -> Instance:
    """Return the instance with the features of a part only."""
    features = np.union1d(part.free, part.included)
    return Instance(
        instance.A[:, features],
        instance.R[np.ix_(features, features)],
        instance.b[features],
        instance.n_select,
        instance.n_per_class,
        include=np.searchsorted(features, part.included).tolist(),
    )


def _start(incumbent: Incumbent, features: Indices) -> Start | None:
    """Return the best solution in terms of the features of a part, if they hold it."""
    if incumbent.best is None or not np.isin(incumbent.best.selection, features).all():
        return None
    selection, assignment = incumbent.best
    return Start(np.searchsorted(features, selection), assignment)
