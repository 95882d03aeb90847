"""solve: choose a method and a solver, run them, return a Solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.control.events import OnEvent
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import GAP, TIME_LIMIT, Clock, Limits
from qpopt.control.progress import following
from qpopt.errors import InvalidArgument, InvalidInstance, InvalidStart
from qpopt.io.json_values import plain
from qpopt.methods.base import Options
from qpopt.methods.conflict import conflict
from qpopt.methods.registry import find_method
from qpopt.methods.warm_up import get_ready
from qpopt.problem import validation
from qpopt.problem.assigning.best import best_found
from qpopt.problem.assigning.ideal import alike_pairs, ideal_sets, idealised_instance
from qpopt.problem.assignment import assign
from qpopt.problem.demands.fulfilment import misfit, unmet
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import Candidate, Solution, Status
from qpopt.solvers.base import SolverInfo
from qpopt.solvers.choice import choose
from qpopt.solvers.registry import find_solver, require, solver_names

IDEAL_SECONDS = 60.0
"""How long the best pairs are looked for at the most."""


def solve(
    instance: Instance,
    *,
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = TIME_LIMIT,
    gap: float = GAP,
    seed: int = 0,
    threads: int | None = None,
    patience: float | None = None,
    start: Solution | ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    idealise: bool = False,
    progress: bool | OnEvent = False,
    options: Options | Mapping[str, Any] | None = None,
) -> Solution:
    """Solve an instance.

    However the solve ends, unless by an error, the best feasible solution known is returned, so
    the result is never worse than the start. Ctrl-C ends it with status `interrupted`.

    Parameters
    ----------
    instance
        The instance.
    method
        "auto" or the name of a method: `projected` proves a bound at real size, `search` finds
        excellent solutions in seconds, mostly without one, `compact` and `qcqp` are exact for
        small instances, `paper` is the published scheme. "auto" is `projected`, or `compact` where
        a solver is named.
    solver
        "auto" or the name of a solver; see `available_solvers`.
    time_limit
        Seconds for everything together; None for no limit.
    gap
        Stop when (bound − objective) / |objective| is at most this.
    seed
        Seed of everything random. The same seed gives the same solution on the same machine,
        unless a time limit is reached or a solver uses several threads.
    threads
        How many threads to use; None leaves it to the solver. `projected` branches in as many
        processes.
    patience
        Stop when, once there is a bound, for so many seconds no better solution was found and the
        bound fell by less than 0.1 %; None, the default, goes on to the gap or the time limit.
        `qpopt_torch.sparsify` has 20 s and a gap of 1 %.
    start
        A solution to start from: a Solution, a selection, or a pair of selection and assignment.
    idealise
        Afterwards, give the classes the best features of the same selection with as many pairs of
        classes as were named, not necessarily those. The solution then is one of
        `instance.with_demands(pairs=len(instance.pairs))`; its bound is none.
    progress
        True shows a live line where there is a terminal; a function is called with every `Event`.
    options
        What only the method understands: its own options object, or a mapping of their names.
        `qpopt methods` lists them.

    Returns
    -------
    Solution
        `details["rounds"]` tells of every round of a method that has rounds. Where demands leave
        no solution, the status is `infeasible`, and `details["conflict"]` names a smallest set of
        demands that cannot hold together.

    Raises
    ------
    InvalidArgument
        If an argument is unknown or out of range; InvalidStart if the start is not feasible.
    MissingSolver, UnsupportedModel, SolverLimit
        If the solver is not there, cannot take the model of the method, or may not for its size.
    InvalidInstance
        If the numbers of the instance are too large, or too far apart, for floating point.
    SolverFailure
        If the solver breaks down, or claims a bound that a solution contradicts.

    Examples
    --------
    >>> import qpopt
    >>> instance = qpopt.generate(12, 6, 5, 2)
    >>> solution = qpopt.solve(instance, time_limit=10)
    >>> print(solution.status, len(solution.selection), len(solution.class_sets()[0]))
    optimal 5 2
    """
    if not isinstance(instance, Instance):
        raise InvalidArgument(f"solve takes a qpopt.Instance, not {type(instance).__name__}.")
    limits = Limits(time_limit, gap, seed, threads, patience)
    validation.yes_or_no("idealise", idealise)
    target = idealised_instance(instance) if idealise else None
    chosen = find_method(method, solver, instance.demands)
    checked = chosen.options.of(options)
    first = None if start is None else checked_start(instance, start)
    scaling = scaled(instance)
    engine = None
    if chosen.sizes is not None:
        engine = choose(solver, chosen.sizes(scaling.instance), chosen.preference)
    with following(progress) as on_event:
        get_ready(instance, on_event)
        incumbent = Incumbent(
            scaling.instance,
            limits,
            start=first,
            method=chosen.name,
            solver="" if engine is None else engine.name,
            on_event=on_event,
            scaling=scaling,
        )
        incumbent.run(lambda: chosen.run(incumbent, engine, checked))
        if incumbent.infeasible and not incumbent.interrupted:
            incumbent.details["conflict"] = list(conflict(instance))
        solution = incumbent.solution()
        return solution if target is None else idealised(target, solution, incumbent.clock)


def idealised(target: Instance, solution: Solution, clock: Clock) -> Solution:
    """Return a solution of the instance with a number of pairs, on the same selection.

    One that was not found, or is all that is known when time is over, stays as it is.
    """
    if solution.selection is None or solution.assignment is None:
        return solution
    left = IDEAL_SECONDS if clock.remaining is None else min(IDEAL_SECONDS, clock.remaining)
    signs = solution.assignment.astype(np.int8)
    best = ideal_sets(target, solution.selection, signs, left, lambda: clock.over)
    assignment = validation.signs("An assignment", best)
    ended = solution.status is Status.INTERRUPTED
    return replace(
        solution,
        assignment=assignment,
        objective=target.objective(solution.selection, assignment).total,
        status=Status.INTERRUPTED if ended else Status.FEASIBLE,
        bound=None,
        trace=(),
        seconds=clock.seconds,
        fingerprint=target.fingerprint,
        details={
            **plain(solution.details),
            "idealised_from": solution.objective,
            "pairs": len(alike_pairs(best)),
        },
    )


def check_solve(
    *,
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = TIME_LIMIT,
    gap: float = GAP,
    seed: int = 0,
    threads: int | None = None,
    patience: float | None = None,
    idealise: bool = False,
    options: Options | Mapping[str, Any] | None = None,
) -> None:
    """Raise what `solve` would raise for these arguments, before there is an instance.

    Raises
    ------
    InvalidArgument
        If an argument is unknown or out of range.
    MissingSolver
        If the solver is not there.

    Examples
    --------
    >>> import qpopt
    >>> qpopt.check_solve(method="search", time_limit=10)
    >>> qpopt.check_solve(method="guess")
    Traceback (most recent call last):
    qpopt.errors.InvalidArgument: ...
    """
    Limits(time_limit, gap, seed, threads, patience)
    validation.yes_or_no("idealise", idealise)
    find_method(method, solver).options.of(options)
    if solver != "auto":
        require(solver)


def available_solvers() -> dict[str, SolverInfo]:
    """Tell for every known solver whether it can be used here and what it can take.

    Returns
    -------
    dict
        By name. `availability` says whether the solver is installed, its version, and whether it
        is licensed or limited; `supports` says what it can take; `install` is the command that
        installs it. A solver is loaded only when its licence is asked for.

    Examples
    --------
    >>> import qpopt
    >>> highs = qpopt.available_solvers()["highs"]
    >>> highs.availability.installed, highs.supports.quadratic_objective
    (True, False)
    """
    solvers = {name: find_solver(name) for name in solver_names()}
    return {
        name: SolverInfo(solver.availability(), solver.supports, solver.install)
        for name, solver in solvers.items()
    }


def checked_start(
    instance: Instance, start: Solution | ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Candidate:
    """Return a start in the form that methods take.

    Raises
    ------
    InvalidStart
        If it is not a feasible solution of the instance, with the reason.
    """
    selection: Any = start
    assignment: Any = None
    if isinstance(start, Solution):
        selection, assignment = start.selection, start.assignment
        if selection is None:
            raise InvalidStart(f"The start holds no solution: its solve ended {start.status}.")
    elif isinstance(start, tuple) and len(start) == 2 and np.ndim(start[1]) == 2:
        selection, assignment = start
    try:
        given = validation.selection(selection, instance.n_features)
        features = np.sort(given)
        reason = misfit(instance, features)
        if assignment is None and not reason:
            sets: validation.Assigned = _assigned(instance, features)
        elif not reason:
            sets = validation.assignment(assignment, instance.n_classes, given, instance.n_features)
            sets = sets[:, np.argsort(given)]
    except InvalidInstance as error:
        raise InvalidStart(f"The start does not fit the instance: {error}") from None
    reason = reason or unmet(instance, features, sets)
    if reason:
        raise InvalidStart(f"The start is not feasible: {reason}.")
    return Candidate(features, sets)


def _assigned(instance: Instance, features: NDArray[np.int64]) -> validation.Assigned:
    """Return the best assignment of a selection, as far as it can be found at once."""
    if not instance.demands:
        return assign(instance.A, features, instance.n_per_class)
    found = best_found(instance, features)
    if found.signs is None:
        raise InvalidStart("The start has no assignment that meets all demands, or none was found.")
    return validation.signs("the start", found.signs, InvalidStart)
