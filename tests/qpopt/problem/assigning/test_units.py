"""Units: sets of classes that hang together by pairs, against trying everything."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from qpopt import Instance, solve, verify
from qpopt.problem.assigning.alike import close_sets, rules_of
from qpopt.problem.assigning.best import best_found
from qpopt.problem.assigning.units import best_of_unit
from qpopt.problem.demands.fulfilment import unmet
from qpopt.search import local_search


def chained(seed, classes=4, features=6, k=2, forbidden=()):
    """Return an instance whose classes are a chain of pairs that want different things."""
    A = np.random.default_rng(seed).random((classes, features))
    pairs = [(c, c + 1) for c in range(classes - 1)]
    nothing = np.zeros((features, features))
    return Instance(
        A, nothing, np.zeros(features), features, k, pairs=pairs, forbidden=list(forbidden)
    )


def best_by_trying(instance, k, *, distinct):
    options = [set(s) for s in combinations(range(instance.n_features), k)]
    best = -np.inf
    for sets in product(options, repeat=instance.n_classes):
        alike = all(len(sets[a] & sets[b]) >= k - 1 for a, b in instance.pairs)
        allowed = not any(d in sets[c] for c, d in instance.forbidden)
        different = len({frozenset(s) for s in sets}) == len(sets)
        if alike and allowed and (different or not distinct):
            best = max(best, sum(instance.A[c, list(s)].sum() for c, s in enumerate(sets)))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_sets_of_a_unit_are_nearly_the_best(seed):
    k = 1 + seed % 3
    instance = chained(seed, 3, 5, k, forbidden=[(0, seed % 5)])
    rules = rules_of(instance, np.arange(5), np.full(3, k), instance.pairs)
    member = best_of_unit(rules, np.arange(3), k)
    assert member is not None
    assert not member[0, seed % 5]
    value = float(instance.A[member].sum())
    best = best_by_trying(instance, k, distinct=True)
    assert best * (1 - 0.02) <= value <= best + 1e-9


def test_close_sets_meet_the_demands_and_are_no_better_than_the_best():
    for seed in range(3):
        instance = chained(seed, 4, 5)
        signs = close_sets(instance, np.arange(5), np.full(4, 2))
        assert signs is not None
        assert not unmet(instance, np.arange(5), signs)
        best = best_by_trying(instance, 2, distinct=True)
        assert 0.98 * best <= float(instance.A[signs > 0].sum()) <= best + 1e-9


def test_nothing_is_begun_once_time_is_over():
    instance = chained(0, 4, 5)
    assert close_sets(instance, np.arange(5), np.full(4, 2), lambda: True) is None


def test_a_search_ends_with_good_sets_of_a_long_chain(monkeypatch):
    rng = np.random.default_rng(1)
    n, q, k = 24, 10, 3
    pairs = [(c, c + 1) for c in range(q - 1)]
    instance = Instance(rng.random((q, n)), np.zeros((n, n)), np.zeros(n), 12, k, pairs=pairs)
    found = solve(instance, method="search", options={"step_limit": 5})
    assert verify(instance, found)
    exact = best_found(instance, np.sort(found.selection), seconds=30.0)
    assert exact.best
    assert 0.98 * exact.value <= found.objective <= exact.value + 1e-9
    # Exchanges of single features alone end lower.
    monkeypatch.setattr(local_search, "_polish", lambda incumbent: None)
    before = solve(instance, method="search", options={"step_limit": 5})
    assert before.objective < found.objective
