"""Trying every selection, where there are few enough of them: what is left is the optimum."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.instance import Instance
from qpopt.problem.objective import best_assignment
from qpopt.search.incumbent import Incumbent

MOST_SELECTIONS = 5000
"""Up to this many selections are tried one by one: about a second, rarely a few."""

ROUNDING = 1e-12
"""What may be lost in adding up Z, relative to the largest sum that could occur."""


def n_selections(instance: Instance) -> int:
    """Return how many selections there are that respect `include` and `exclude`."""
    n_included = len(instance.include)
    n_free = instance.n_features - n_included - len(instance.exclude)
    return comb(n_free, instance.n_select - n_included)


def try_every_selection(incumbent: Incumbent) -> bool:
    """Offer every selection to the incumbent, each counting as a step.

    Without uniqueness Z is quickly computed and never too low, so only selections that look better
    than the best one need their exact assignment.

    Returns
    -------
    bool
        Whether it came to the end: then the incumbent is optimal. False where a limit came first.
    """
    instance = incumbent.instance
    k = instance.n_per_class
    margin = ROUNDING * _largest_sum(instance)
    for selection in _selections(instance):
        if incumbent.done:
            return False
        incumbent.made(1, incumbent.allot(1))
        at_most = instance.objective(selection, best_assignment(instance.A, selection, k)).total
        if at_most > incumbent.objective - margin:
            incumbent.judge(selection)
    return True


def _selections(instance: Instance) -> Iterator[NDArray[np.int64]]:
    fixed = {*instance.include, *instance.exclude}
    free = [d for d in range(instance.n_features) if d not in fixed]
    for rest in combinations(free, instance.n_select - len(instance.include)):
        yield np.array(sorted((*instance.include, *rest)), dtype=np.int64)


def _largest_sum(instance: Instance) -> float:
    similarity = instance.n_per_class * float(np.abs(instance.A).max(axis=1).sum())
    redundancy = instance.n_select**2 * float(instance.R.max())
    return similarity + redundancy + instance.n_select * float(np.abs(instance.b).max())
