"""search: good solutions within a budget of time or steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
from numpy.random import SeedSequence

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.problem import validation
from qpopt.problem.assigning.alike import close_sets
from qpopt.problem.assigning.multipliers import multipliers_at
from qpopt.problem.assigning.relaxed import no_multipliers
from qpopt.problem.demands.fulfilment import misfit, unmet
from qpopt.problem.relaxing import relaxed
from qpopt.problem.solution import Candidate
from qpopt.problem.subproblem import subproblem
from qpopt.search.budget import Budget
from qpopt.search.enumeration import Enumeration, n_selections
from qpopt.search.search_view import SearchView
from qpopt.search.worker import SearchParams, Worker

LAST_SECONDS = 3.0
"""What is left of the time when no further sets are looked for: some are still to be repaired."""


def search(incumbent: Incumbent, budget: Budget, params: SearchParams = SearchParams()) -> bool:
    """Find good solutions: tabu search over swaps, with restarts and recombination.

    Where there are only a few thousand selections, all of them are tried after the first climbs,
    within the budget, and the search ends with the optimum.

    However small the budget is, the incumbent gets a complete solution with distinct classes. With
    one thread and a budget of steps, the same seed gives the same result to the last bit.

    Parameters
    ----------
    incumbent
        Gets every improvement; its limits say with what seed and how many threads, each a worker
        that shares the best solution with the others.
    budget
        When to stop.
    params
        How to search.

    Returns
    -------
    bool
        Whether every selection was tried: then the best solution is optimal.
    """
    incumbent.enter(Phase.SEARCH, "searching")
    instance, limits = incumbent.instance, incumbent.limits
    view = SearchView(incumbent)
    starts = [view.greedy()]
    if incumbent.best is not None:
        starts.insert(0, view.columns(incumbent.best.selection))
    hint = np.array(instance.hint, dtype=np.int64)
    if not misfit(instance, hint):
        starts.append(view.columns(hint))
    for selection in starts:
        if incumbent.best is None or not incumbent.clock.over:
            incumbent.judge(selection)
    if n_selections(subproblem(instance)) == 1:
        incumbent.settle(starts[0])
        return True
    view.renew()
    n_workers = limits.threads or 1
    first, *others = (
        Worker(view, incumbent, budget, seed, params, sharing=n_workers > 1)
        for seed in SeedSequence(limits.seed).spawn(n_workers)
    )
    first.starts = starts
    if _try_all(first, params.most_selections):
        return True
    _run([first, *others])
    if incumbent.best is not None and not incumbent.instance.budgets.fixed:
        # On the way an assignment that was nearly the best one was good enough.
        incumbent.settle(incumbent.best.selection)
    _polish(incumbent)
    return False


def _polish(incumbent: Incumbent) -> None:
    """Give classes that hang together by pairs nearly their best sets, for the best selection.

    On the way sets were only exchanged feature by feature.
    """
    instance, best = incumbent.instance, incumbent.best
    if best is None or not instance.pairs or instance.negative is not None:
        return
    sizes = np.count_nonzero(best.assignment, axis=1)
    order = np.argsort(best.selection)
    selection = best.selection[order]
    clock = incumbent.clock
    signs = close_sets(
        instance,
        selection,
        sizes,
        lambda: clock.over or (clock.remaining is not None and clock.remaining < LAST_SECONDS),
    )
    if signs is not None and not unmet(instance, selection, signs):
        incumbent.offer(Candidate(selection, validation.signs("An assignment", signs)))


def _try_all(worker: Worker, most: int) -> bool:
    """Climb from every start, then look at all selections; False where there are too many."""
    incumbent, budget, instance = worker.incumbent, worker.budget, worker.incumbent.instance
    count = n_selections(subproblem(instance))
    if count > most:
        return False
    while worker.starts and not budget.done:
        worker.climb(worker.next_start())
    if budget.done or not budget.affords(count):
        return False
    budget.made(count, budget.allot(count))
    if instance.demands:
        # Selections are passed over by a bound: under demands that is what the plain one is worth.
        best = incumbent.best
        by = no_multipliers(instance) if best is None else multipliers_at(instance, best.selection)
        instance = relaxed(instance, by)
    return Enumeration(subproblem(instance)).offer_all(incumbent, count, lambda: budget.out_of_time)


def _run(workers: list[Worker]) -> None:
    """Run one worker here, several in threads of their own."""
    if len(workers) == 1:
        workers[0].run()
        return
    with ThreadPoolExecutor(len(workers)) as pool:
        futures = [pool.submit(worker.run) for worker in workers]
        try:
            wait(futures, return_when="FIRST_EXCEPTION")
        finally:
            workers[0].budget.stop()
        for future in futures:
            future.result()
