"""Compiling everything once, so that it does not take from anybody's time limit."""

from __future__ import annotations

from functools import cache

import numpy as np

from qpopt.control.events import Event, OnEvent, Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.kernels.auction import improve_multipliers
from qpopt.kernels.families.used_sets import best_use
from qpopt.problem.assigning.alike import alike_sets
from qpopt.problem.instance import Instance
from qpopt.problem.solution import TracePoint
from qpopt.problem.subproblem import subproblem
from qpopt.relaxations.admm import AdmmParams
from qpopt.relaxations.semidefinite import SemidefiniteParams, SemidefiniteRelaxation
from qpopt.search.budget import Budget
from qpopt.search.enumeration import Enumeration
from qpopt.search.local_search import search
from qpopt.search.worker import SearchParams

COMPILING = "getting ready; the first time on a machine loops are compiled, for half a minute"


def get_ready(instance: Instance, on_event: OnEvent | None) -> None:
    """Compile what the solve of an instance needs; say so where this process has not done it."""
    if on_event is not None and not compile_loops.cache_info().currsize:
        on_event(Event(Phase.COMPILE, TracePoint(0.0, None, None), COMPILING))
    compile_loops()
    if instance.demands:
        compile_demands()


@cache
def compile_loops() -> None:
    """Compile the loops of search and bounds, or load them where that has been done before."""
    rng = np.random.default_rng(0)
    n, q = 12, 4
    redundancy = np.triu(rng.random((n, n)), 1)
    instance = Instance(rng.random((q, n)), redundancy + redundancy.T, np.zeros(n), 5, 2)
    incumbent = Incumbent(instance, Limits())
    search(incumbent, Budget(incumbent, steps=1), SearchParams(most_selections=0))
    Enumeration(subproblem(instance)).advance(0.0, 0)
    for admm in (AdmmParams(), AdmmParams(single_precision_from=0)):
        params = SemidefiniteParams(admm=admm)
        semidefinite = SemidefiniteRelaxation(subproblem(instance), params=params)
        for _ in range(params.rounds_per_cuts + 1):
            semidefinite.round(1)
    # These cuts come later than the first rounds.
    rows, thresholds = np.ascontiguousarray(instance.A[:2, :6]), np.zeros(2)
    improve_multipliers(rows, np.full(6, 0.5), 2, thresholds, 0.1, 1.0, 1)
    best_use(rows - thresholds[:, None], np.full(6, 0.5), 2, 1)


@cache
def compile_demands() -> None:
    """Compile what assignments under demands need besides."""
    A = np.random.default_rng(0).random((4, 8))
    instance = Instance(A, np.zeros((8, 8)), np.zeros(8), 6, 2, pairs=[(0, 1)], max_shared=1)
    alike_sets(instance, np.arange(6), np.full(4, 2, dtype=np.int64))
