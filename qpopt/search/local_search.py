"""search: a good solution within a limit of time or steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from qpopt.errors import InvalidInstance, InvalidStart
from qpopt.problem import arguments as _arguments
from qpopt.problem import validation as _checks
from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.solution import TracePoint
from qpopt.search.exhaustive import MOST_SELECTIONS, n_selections, try_every_selection
from qpopt.search.greedy import greedy_selection
from qpopt.search.incumbent import Incumbent, Progress
from qpopt.search.integer_instance import Problem, in_units
from qpopt.search.swap_state import new_state
from qpopt.search.tabu_memory import new_auction, new_memory
from qpopt.search.worker import Worker

DEFAULT_SECONDS = 10.0


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Parameters
    ----------
    selection
        The selected features, rising.
    assignment
        Boolean classes × n_select, the best one for the selection with all classes distinct.
    objective
        Z.
    trace
        Every improvement: seconds and objective.
    steps
        Swaps made, by all workers together.
    seconds
        Wall time.
    interrupted
        Whether the user interrupted the search.
    complete
        Whether every selection was tried: then the solution is optimal.
    """

    selection: NDArray[np.int64]
    assignment: NDArray[np.bool_]
    objective: float
    trace: tuple[TracePoint, ...]
    steps: int
    seconds: float
    interrupted: bool
    complete: bool


def search(
    instance: Instance,
    *,
    time_limit: float | None = None,
    step_limit: int | None = None,
    target: float | None = None,
    patience: float | None = None,
    seed: int = 0,
    threads: int = 1,
    start: ArrayLike | None = None,
    on_progress: Progress | None = None,
) -> SearchResult:
    """Find a good solution: tabu search over swaps, with restarts and recombination.

    Where there are only a few thousand selections, all of them are tried after the first climbs,
    within the limits, and the search ends with the optimum.

    The result always is a complete solution with distinct classes, however small the limits are.
    With one thread and a limit of steps, the same seed gives the same result to the last bit. The
    first call on a machine compiles for some seconds, which do not count.

    Parameters
    ----------
    instance
        What to solve.
    time_limit
        Seconds; 10 if there is no other limit, of steps or patience.
    step_limit
        Swaps, of all threads together, and selections where all of them are tried.
    target
        Stop as soon as the objective is at least this.
    patience
        Stop after so many seconds without an improvement.
    seed
        Seed of all random choices.
    threads
        Workers that search side by side and share the best solution.
    start
        A selection to begin with, as indices or as a mask.
    on_progress
        Called with a `TracePoint` at every improvement.

    Returns
    -------
    SearchResult
        The best solution found. An interruption (Ctrl-C) returns it too.

    Raises
    ------
    InvalidArgument
        If a number is out of range; InvalidStart if `start` is not a selection of the instance.
    """
    _check_limits(time_limit, step_limit, target, patience, seed, threads)
    if time_limit is None and step_limit is None and patience is None:
        time_limit = DEFAULT_SECONDS
    given = [] if start is None else [_checked_start(instance, start)]
    problem, unit = in_units(instance)
    starts = [*given, greedy_selection(instance, problem), *_clique(instance)]
    _compile(problem, starts[0])
    incumbent = Incumbent(instance, time_limit, step_limit, target, on_progress, patience)
    interrupted = complete = False
    try:
        for selection in starts:
            incumbent.judge(selection)
        if n_selections(instance) == 1:
            complete = True
        else:
            seeds = SeedSequence(seed).spawn(threads)
            first, *others = (
                Worker(problem, unit, incumbent, one, [], sharing=threads > 1) for one in seeds
            )
            first.starts = list(starts)
            complete = _try_all(first, incumbent)
            if not complete:
                _run([first, *others], incumbent)
    except KeyboardInterrupt:
        interrupted = True
    if incumbent.selection is None:
        incumbent.judge(starts[0])
    assert incumbent.selection is not None
    assert incumbent.assignment is not None
    return SearchResult(
        incumbent.selection,
        incumbent.assignment,
        incumbent.objective,
        tuple(incumbent.trace),
        incumbent.steps,
        incumbent.seconds,
        interrupted,
        complete,
    )


def _compile(problem: Problem, selection: NDArray[np.int64]) -> None:
    """Have every loop compiled, or loaded from the cache, before the clock starts."""
    from qpopt.kernels.tabu import tabu_search  # numba takes a second to import

    memory = new_memory(problem.A.shape[1], len(selection), 0, (1, 1))
    auction = new_auction(problem)
    tabu_search(problem, new_state(problem, selection), memory, auction, 0, 0)
    assign(np.zeros((2, 2)), np.arange(2), 1)


def _try_all(worker: Worker, incumbent: Incumbent) -> bool:
    """Climb from every start, then try all selections; False where there are too many."""
    count = n_selections(incumbent.instance)
    if count > MOST_SELECTIONS:
        return False
    while worker.starts and not incumbent.done:
        worker.climb(worker.next_start())
    return incumbent.affords(count) and try_every_selection(incumbent)


def _run(workers: list[Worker], incumbent: Incumbent) -> None:
    """Run one worker here, several in threads of their own."""
    if len(workers) == 1:
        workers[0].run()
        return
    with ThreadPoolExecutor(len(workers)) as pool:
        futures = [pool.submit(worker.run) for worker in workers]
        try:
            wait(futures, return_when="FIRST_EXCEPTION")
        finally:
            incumbent.stop()
        for future in futures:
            future.result()


def _checked_start(instance: Instance, start: ArrayLike) -> NDArray[np.int64]:
    try:
        selection = _checks.selection(start, instance.n_features)
    except InvalidInstance as error:
        raise InvalidStart(f"start is not a selection of the instance: {error}") from None
    if reason := _checks.misfit(instance, selection):
        raise InvalidStart(f"start is not a selection of the instance: {reason}.")
    return selection


def _clique(instance: Instance) -> list[NDArray[np.int64]]:
    """Return the clique of `prepare`, unless there is none or it is of no use any more."""
    try:
        selection = _checks.selection(instance.provenance.get("clique", []), instance.n_features)
    except InvalidInstance:
        return []
    return [] if _checks.misfit(instance, selection) else [selection]


def _check_limits(
    time_limit: float | None,
    step_limit: int | None,
    target: float | None,
    patience: float | None,
    seed: int,
    threads: int,
) -> None:
    for name, seconds in (("time_limit", time_limit), ("patience", patience)):
        if seconds is not None:
            _arguments.number(name, seconds, least=0.0, finite=False)
    if step_limit is not None:
        _arguments.whole_number("step_limit", step_limit, least=0)
    if target is not None:
        _arguments.number("target", target, finite=False)
    _arguments.whole_number("seed", seed, least=0)
    _arguments.whole_number("threads", threads, least=1)
