"""solve: choose a method and a solver, run them, return a Solution."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from qpopt.errors import InvalidArgument, InvalidInstance, InvalidStart
from qpopt.problem import validation as _checks
from qpopt.problem.arguments import number, whole_number
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution

if TYPE_CHECKING:  # methods and solvers take a while to load, and importing qpopt should not
    from qpopt.control.settings import Report, Start
    from qpopt.solvers.base import SolverInfo


def solve(
    instance: Instance,
    *,
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = None,
    gap: float = 1e-4,
    seed: int = 0,
    threads: int | None = None,
    start: Solution | ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    progress: bool | Report = False,
    options: Mapping[str, Any] | None = None,
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
        How many threads to use; None leaves it to the solver.
    start
        A solution to start from: a Solution, a selection, or a pair of selection and assignment.
    progress
        True shows a live line where there is a terminal; a function is called with every new trace
        point and a note.
    options
        What only the method understands; see its documentation.

    Returns
    -------
    Solution
        `details["rounds"]` tells of every round of a method that has rounds.

    Raises
    ------
    InvalidArgument
        If an argument is unknown or out of range; InvalidStart if the start is not feasible.
    MissingSolver, UnsupportedModel, SolverLimit
        If the solver is not there, cannot take the model of the method, or may not for its size.
    SolverFailure
        If the solver breaks down.
    """
    from qpopt.control.settings import Settings
    from qpopt.methods.registry import find_method
    from qpopt.methods.warm_up import compile_loops
    from qpopt.solvers.choice import choose

    if not isinstance(instance, Instance):
        raise InvalidArgument(f"solve takes a qpopt.Instance, not {type(instance).__name__}.")
    if options is not None and not isinstance(options, Mapping):
        raise InvalidArgument(f"options must be a mapping of names to values, not {options!r}.")
    chosen = find_method(method, solver)
    settings = Settings(
        time_limit=None if time_limit is None else number("time_limit", time_limit, least=0.0),
        gap=number("gap", gap, least=0.0),
        seed=whole_number("seed", seed, least=0),
        threads=None if threads is None else whole_number("threads", threads, least=1),
        start=None if start is None else checked_start(instance, start),
        options=dict(options or {}),
    )
    engine = None
    if chosen.sizes is not None:
        engine = choose(solver, chosen.sizes(instance), chosen.preference)
    compile_loops()
    with ExitStack() as stack:
        if callable(progress):
            settings = replace(settings, report=progress)
        elif progress:
            from qpopt.control.progress import LiveLine

            settings = replace(settings, report=stack.enter_context(LiveLine()))
        return chosen.run(instance, engine, settings)


def available_solvers() -> dict[str, SolverInfo]:
    """Tell for every known solver whether it can be used here and what it can take.

    Returns
    -------
    dict
        By name. `availability` says whether the solver is installed, its version, and whether it
        is licensed or limited; `supports` says what it can take; `install` is the command that
        installs it.
    """
    from qpopt.solvers.registry import solver_infos

    return solver_infos()


def checked_start(
    instance: Instance, start: Solution | ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Start:
    """Return a start in the form that methods take.

    Raises
    ------
    InvalidStart
        If it is not a feasible solution of the instance, with the reason.
    """
    from qpopt.control.settings import Start
    from qpopt.problem.assignment import assign

    assignment: Any = None
    if isinstance(start, Solution):
        if start.selection is None:
            raise InvalidStart(f"The start holds no solution: its solve ended {start.status}.")
        selection: Any = start.selection
        assignment = start.assignment
    elif isinstance(start, tuple) and len(start) == 2 and np.ndim(start[1]) == 2:
        selection, assignment = start
    else:
        selection = start
    try:
        features = _checks.selection(selection, instance.n_features)
        order = np.argsort(features)
        if assignment is not None:
            checked = _checks.assignment(
                assignment, instance.n_classes, features, instance.n_features
            )
            assignment = checked[:, order]
    except InvalidInstance as error:
        raise InvalidStart(f"The start does not fit the instance: {error}") from None
    features = features[order]
    if reason := _infeasible_selection(instance, features.tolist()):
        raise InvalidStart(f"The start is not feasible: {reason}")
    if assignment is None:
        assignment = assign(instance.A, features, instance.n_per_class)
    if reason := _infeasible_assignment(instance, assignment):
        raise InvalidStart(f"The start is not feasible: {reason}")
    return Start(features, assignment)


def _infeasible_selection(instance: Instance, features: list[int]) -> str:
    if len(features) != instance.n_select:
        return f"it selects {len(features)} features instead of {instance.n_select}."
    for d in instance.include:
        if d not in features:
            return f"feature {d} must be selected and is not."
    for d in instance.exclude:
        if d in features:
            return f"feature {d} must not be selected and is."
    return ""


def _infeasible_assignment(instance: Instance, assignment: Any) -> str:
    holders: dict[bytes, int] = {}
    for c, row in enumerate(assignment):
        if row.sum() != instance.n_per_class:
            return f"class {c} has {row.sum()} features instead of {instance.n_per_class}."
        other = holders.setdefault(row.tobytes(), c)
        if other != c:
            return f"classes {other} and {c} have the same features."
    return ""
