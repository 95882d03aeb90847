"""The best solution of a small instance by trying everything, sharing no code with qpopt."""

from __future__ import annotations

from itertools import combinations
from math import fsum
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment


class Best(NamedTuple):
    """An optimal selection, the set of features of every class, and Z."""

    objective: float
    selection: tuple[int, ...]
    class_sets: tuple[tuple[int, ...], ...]


def all_selections(instance):
    """Yield every selection that contains `include` and nothing of `exclude`."""
    free = [
        d
        for d in range(instance.n_features)
        if d not in instance.include and d not in instance.exclude
    ]
    for rest in combinations(free, instance.n_select - len(instance.include)):
        yield tuple(sorted((*instance.include, *rest)))


def indicators(n, m):
    """Yield every selection of m out of n features as a vector of zeros and ones."""
    for chosen in combinations(range(n), m):
        s = np.zeros(n)
        s[list(chosen)] = 1.0
        yield s


def value(instance, selection, class_sets):
    """Z, term by term, straight from its definition."""
    terms = [float(instance.b[d]) for d in selection]
    terms += [float(instance.A[c, d]) for c, members in enumerate(class_sets) for d in members]
    terms += [-float(instance.R[d, e]) for d, e in combinations(selection, 2)]
    return fsum(terms)


def best_class_sets(instance, selection, *, distinct=True):
    """The best sets for one selection: a matching of classes with all sets of the right size."""
    sets = list(combinations(selection, instance.n_per_class))
    gains = np.array(
        [[instance.A[c, list(one)].sum() for one in sets] for c in range(instance.n_classes)]
    )
    if not distinct:
        return tuple(sets[j] for j in gains.argmax(axis=1))
    _, columns = linear_sum_assignment(gains, maximize=True)
    return tuple(sets[j] for j in columns)


def just_below(objective):
    """Return a little less than the best objective, for a bound that is told what is known.

    Told the optimum itself, a bound may be wrong and still never lie below it. Told less, it has to
    find out.
    """
    return objective - 1e-3 * max(1.0, abs(objective))


def brute_force(instance, *, distinct=True):
    """Return the best solution; `distinct=False` drops the rule that no two classes are alike."""
    best = None
    for selection in all_selections(instance):
        # What ignores uniqueness cannot be worse, so it spares most of the matchings.
        relaxed = best_class_sets(instance, selection, distinct=False)
        if best is not None and value(instance, selection, relaxed) <= best.objective:
            continue
        class_sets = best_class_sets(instance, selection, distinct=distinct)
        candidate = Best(value(instance, selection, class_sets), selection, class_sets)
        if best is None or candidate.objective > best.objective:
            best = candidate
    return best
