"""Sets that must, or must not, be alike: the best pair, repair and improvement."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance
from qpopt.kernels.demands.set_moves import best_pair, improve_sets
from qpopt.problem.assigning.alike import rules_of


@given(seed=st.integers(0, 9999), n=st.integers(3, 6), size=st.integers(1, 3))
def test_best_pair_equals_trying_all(seed, n, size):
    if size >= n:
        return
    first, second = np.random.default_rng(seed).integers(-4, 5, (2, n)).astype(float)
    row, other = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    best_pair(first, second, size, row, other)
    sets = list(combinations(range(n), size))
    expected = max(
        first[list(one)].sum() + second[list(two)].sum()
        for one in sets
        for two in sets
        if len(set(one) & set(two)) == size - 1 and one != two
    )
    assert (row & other).sum() == size - 1
    assert row.sum() == other.sum() == size
    assert first[row].sum() + second[other].sum() == pytest.approx(expected)


def test_equal_sets_come_apart_where_it_costs_least():
    A = np.array([[9.0, 8.0, 1.0, 0.0], [9.0, 8.0, 7.5, 0.0]])
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 4, 2)
    sizes = np.array([2, 2])
    rules = rules_of(instance, np.arange(4), sizes, ())
    member = np.array([[1, 1, 0, 0], [1, 1, 0, 0]], dtype=bool)
    assert improve_sets(rules, member, 10) == 0
    assert member.tolist() == [[True, True, False, False], [True, False, True, False]]


def test_what_cannot_be_repaired_is_told():
    A = np.ones((4, 3))
    instance = Instance(A, np.zeros((3, 3)), np.zeros(3), 3, 1, budget=[1, 1, 1, 2])
    rules = rules_of(instance, np.arange(3), np.array([1, 1, 1, 1]), ())
    member = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)
    assert improve_sets(rules, member, 10) > 0
