"""Proving an instance without any solver: by a simple bound, or by trying every selection.

Slow and simple: what it says is optimal is. Without uniqueness the value of a selection is quickly
computed and never too low, so only selections that look better than the best one known need their
exact assignment.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb, fsum
from time import perf_counter

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.library.exhaustive_kernels import better_selections
from qpopt import Instance, Solution, Status
from qpopt.problem.assignment import assign

MOST_SELECTIONS = 50_000_000
CHUNK = 100_000


def prove(instance: Instance, best: Solution) -> Solution:
    """Return the best solution of an instance with a proof that needs no solver.

    Parameters
    ----------
    instance
        A small instance, or a planted one.
    best
        The best solution known.

    Raises
    ------
    BenchmarkError
        If there are too many selections to try.
    """
    bound = simple_bound(instance)
    if best.objective is not None and bound <= best.objective + 1e-9 * abs(best.objective):
        return replace(best, bound=bound, status=Status.OPTIMAL, method="simple bound", solver="")
    return enumerate_all(instance, best)


def simple_bound(instance: Instance) -> float:
    """Return the bound that each part of Z keeps by itself; it is tight for planted instances."""
    similar = -np.sort(-instance.A, axis=1)[:, : instance.n_per_class]
    wanted = -np.sort(-instance.b)[: instance.n_select]
    return fsum([*similar.ravel().tolist(), *wanted.tolist()])


def enumerate_all(instance: Instance, start: Solution) -> Solution:
    """Return the best solution of an instance, proven by enumeration.

    Parameters
    ----------
    instance
        A small instance without `include` and `exclude`.
    start
        A good solution; the better it is, the less there is to do.

    Raises
    ------
    BenchmarkError
        If there are too many selections, or the instance fixes features.
    """
    n_selections = comb(instance.n_features, instance.n_select)
    if n_selections > MOST_SELECTIONS or instance.include or instance.exclude or instance.demands:
        raise BenchmarkError(
            f"{instance.name} has {n_selections:,} selections; enumeration takes at most "
            f"{MOST_SELECTIONS:,}, and no fixed features."
        )
    if start.objective is None:
        raise BenchmarkError("Enumeration starts from a solution; this one holds none.")
    began = perf_counter()
    best = start
    objective = instance.objective(best.selection, best.assignment).total  # type: ignore[arg-type]
    state = np.arange(instance.n_select)
    found = np.empty((CHUNK, instance.n_select), dtype=np.int64)
    finished = False
    while not finished:
        count, finished = better_selections(
            instance.A, instance.R, instance.b, instance.n_per_class, objective, state, found
        )
        for selection in found[:count]:
            assignment = assign(instance.A, selection, instance.n_per_class)
            total = instance.objective(selection, assignment).total
            if total > objective:
                objective = total
                best = replace(best, selection=selection, assignment=assignment)
    return replace(
        best,
        objective=objective,
        bound=objective,
        status=Status.OPTIMAL,
        method="enumeration",
        solver="",
        seconds=perf_counter() - began,
        details={},
        trace=(),
    )
