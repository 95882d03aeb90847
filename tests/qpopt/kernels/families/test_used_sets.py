"""Families of classes: the best use of features, against looking at everything."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from qpopt.kernels.families.distinct import distinct_gain
from qpopt.kernels.families.used_sets import best_use


def sets_of(row, used, k):
    """Yield all that a class may take, and what it gains; None stands for a set elsewhere."""
    features = [d for d in range(len(row)) if used >> d & 1 and row[d] > 0]
    for size in range(k + 1):
        for chosen in combinations(features, size):
            yield (chosen if size == k else None), sum(row[d] for d in chosen)


def brute_force(gains, used, k):
    """Return the most that distinct sets of the features gain, by trying all combinations."""
    best = 0.0
    for options in product(*(list(sets_of(row, used, k)) for row in gains)):
        full = [chosen for chosen, _ in options if chosen is not None]
        if len(full) == len(set(full)):
            best = max(best, sum(worth for _, worth in options))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_distinct_sets_gain_what_trying_all_finds(seed):
    rng = np.random.default_rng(seed)
    classes, features, k = 3, int(rng.integers(3, 6)), int(rng.integers(1, 4))
    # Rows that are nearly the same want the same sets.
    gains = rng.normal(1.0, 1.0, features) + 0.2 * rng.normal(size=(classes, features))
    used = int(rng.integers(1, 2**features))
    sets = np.zeros(classes, np.int64)
    value = distinct_gain(gains, k, used, sets)
    assert value == pytest.approx(brute_force(gains, used, k), abs=1e-12)
    taken = [[d for d in range(features) if s >> d & 1] for s in sets.tolist()]
    assert value == pytest.approx(sum(gains[c, t].sum() for c, t in enumerate(taken)))
    full = [s for s, t in zip(sets.tolist(), taken, strict=True) if len(t) == k]
    assert len(full) == len(set(full))


def test_a_set_beyond_the_best_features_is_never_worth_more_than_it_is_charged():
    # Six classes want one of nine features each, and everybody would rather have the first ones.
    gains = np.tile(np.linspace(2.0, 1.0, 9), (6, 1))
    sets = np.zeros(6, np.int64)
    assert distinct_gain(gains, 1, 2**9 - 1, sets) >= gains[0, :6].sum()


@pytest.mark.parametrize("seed", range(12))
def test_the_best_use_of_features_is_what_trying_all_finds(seed):
    rng = np.random.default_rng(seed)
    classes, features, k = 3, 5, int(rng.integers(1, 4))
    gains = rng.normal(0.7, 1.0, features) + 0.2 * rng.normal(size=(classes, features))
    prices = np.abs(rng.normal(0.5, 1.0, features))
    paid = [
        brute_force(gains, used, k) - prices[[d for d in range(features) if used >> d & 1]].sum()
        for used in range(2**features)
    ]
    value, used, sets = best_use(gains, prices, k, 10_000)
    assert value == pytest.approx(max(paid), abs=1e-12)
    assert paid[used] == pytest.approx(value, abs=1e-12)
    assert not any(s & ~used for s in sets.tolist())


@pytest.mark.parametrize("most_parts", [0, 1, 5, 20])
def test_where_not_everything_is_looked_at_the_value_is_no_smaller(most_parts):
    rng = np.random.default_rng(3)
    gains = rng.normal(1.0, 0.5, 8) + 0.1 * rng.normal(size=(4, 8))
    prices = np.abs(rng.normal(1.0, 0.5, 8))
    exact, _, _ = best_use(gains, prices, 3, 10**6)
    assert best_use(gains, prices, 3, most_parts)[0] >= exact
