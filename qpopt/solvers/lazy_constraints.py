"""Solving a model whose remaining constraints are added only where a solution breaks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.errors import SolverFailure
from qpopt.models.compiled import CompiledModel, Rows
from qpopt.models.warm_start import start_vector
from qpopt.problem.solution import Status
from qpopt.solvers.base import Solver, SolverRequest, SolverResult

Separate = Callable[[NDArray[np.float64]], Rows | None]
"""Given a solution of the model, return the missing constraints that it breaks, or None."""


def solve_lazily(
    model: CompiledModel,
    solver: Solver,
    incumbent: Incumbent,
    separate: Separate | None = None,
    *,
    callbacks: bool = True,
) -> None:
    """Solve a relaxation of the problem until nothing is violated, or until time is up.

    Every selection that the solver finds is completed by its best feasible assignment and offered
    to the incumbent. Every bound of the relaxation is a bound of the problem.

    Parameters
    ----------
    model
        The relaxation, with the variables s and w.
    solver
        A solver that can take it.
    incumbent
        Gets solutions, bounds, and `details["rounds"]`: for each round its seconds, the
        constraints added and the status of the solver.
    separate
        Finds the violated constraints; None where the model is complete.
    callbacks
        Whether to add constraints while the solver runs, where it can do that; it is one round
        then.
    """
    rounds: list[dict[str, float | int | str]] = []
    incumbent.details["rounds"] = rounds
    native = callbacks and solver.supports.lazy_callback
    while not incumbent.clock.over:
        began = perf_counter()
        incumbent.enter(
            Phase.MIP, f"round {len(rounds) + 1}, {sum(int(r['added']) for r in rounds)} cuts"
        )
        result = _solve(model, solver, incumbent, separate if native else None)
        cuts = None
        if result.x is not None:
            offer_point(incumbent, model, result.x)
            cuts = separate(np.rint(result.x)) if separate is not None else None
        incumbent.tighten(result.bound)
        rounds.append(
            {
                "seconds": perf_counter() - began,
                "added": result.lazy_added + (cuts.n_rows if cuts else 0),
                "status": result.status.value,
            }
        )
        if result.status is not Status.OPTIMAL or cuts is None or incumbent.proven:
            break
        model = model.with_rows(cuts)


def _solve(
    model: CompiledModel, solver: Solver, incumbent: Incumbent, separate: Separate | None
) -> SolverResult:
    start = None
    if incumbent.best is not None and solver.supports.warm_start:
        start = start_vector(incumbent.instance, model, incumbent.best)

    def on_progress(x: NDArray[np.float64] | None, bound: float | None) -> None:
        if x is not None:
            offer_point(incumbent, model, x)
        incumbent.tighten(bound)

    def lazy(x: NDArray[np.float64]) -> Rows | None:
        assert separate is not None
        # The solver will not keep a solution that breaks something, so it is repaired here.
        offer_point(incumbent, model, x)
        return separate(np.rint(x))

    limits = replace(incumbent.clock.share(), gap=incumbent.model_gap)
    checked = None if separate is None else lazy
    request = SolverRequest(limits, start, checked, on_progress, size=incumbent.size)
    return solve_for(incumbent, solver, model, request)


def offer_point(incumbent: Incumbent, model: CompiledModel, x: NDArray[np.float64]) -> None:
    """Offer what a point of the model says: its selection, with demands also its assignment."""
    s = model.block("s", x)
    if incumbent.instance.demands:
        assigned = np.rint(model.block("w", x))
        if "v" in model.blocks:
            assigned = assigned - np.rint(model.block("v", x))
        incumbent.offer_assigned(s, assigned)
    else:
        incumbent.offer_values(s)


def solve_for(
    incumbent: Incumbent, solver: Solver, model: CompiledModel, request: SolverRequest
) -> SolverResult:
    """Solve a model; the incumbent notes an interruption, and where demands leave no solution."""
    result = solver.solve(model, request)
    if result.status is Status.INFEASIBLE and incumbent.instance.demands and not incumbent.best:
        incumbent.infeasible = True
    elif result.status is Status.INFEASIBLE:
        raise SolverFailure(
            f"{solver.name} says that the model is infeasible, which cannot be; try another solver."
        )
    incumbent.interrupted = result.status is Status.INTERRUPTED
    return result
