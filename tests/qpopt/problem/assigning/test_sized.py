"""Distinct sets under an average budget, against trying all assignments."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import Average, Instance
from qpopt.problem.assigning.sized import sized_sets
from qpopt.problem.demands.fulfilment import unmet


def best_value(A, least, most, total):
    """Return the best value of distinct sets whose sizes add up to the total."""
    sets = [s for n in range(least, most + 1) for s in combinations(range(A.shape[1]), n)]
    best = -np.inf
    for chosen in product(sets, repeat=len(A)):
        if sum(map(len, chosen)) == total and len(set(chosen)) == len(chosen):
            best = max(best, sum(A[c, list(s)].sum() for c, s in enumerate(chosen)))
    return best


@settings(max_examples=60)
@given(seed=st.integers(0, 9999), least=st.integers(1, 2), most=st.integers(2, 4))
def test_sized_sets_against_trying_all(seed, least, most):
    A = np.random.default_rng(seed).integers(-3, 6, (3, 4)).astype(float)
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 4, 2, budget=Average(least, most))
    signs, bound = sized_sets(instance, np.arange(4))
    expected = best_value(A, least, most, 6)
    assert bound >= expected - 1e-9
    if signs is not None:
        assert not unmet(instance, np.arange(4), signs)
        assert float(A[signs > 0].sum()) <= expected + 1e-9


def test_equal_classes_get_sets_of_other_sizes():
    A = np.array([[5.0, 4.0, 0.1, 0.0], [5.0, 4.0, 0.1, 0.0]])
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 4, 2, budget=Average(1, 3))
    signs, bound = sized_sets(instance, np.arange(4))
    assert sorted(signs.sum(axis=1).tolist()) == [1, 3]
    assert float(A[signs > 0].sum()) == pytest.approx(5 + 5 + 4 + 0.1)
    assert bound >= 14.1 - 1e-9
