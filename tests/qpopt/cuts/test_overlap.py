"""Overlap cuts against all combinations of distinct sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from qpopt.cuts.overlap import OverlapParams, best_overlap, crowded_groups, overlap_cut, shares


def best_distinct(A, selected, k):
    sets = list(combinations(selected, k))
    gains = np.array([[row[list(one)].sum() for one in sets] for row in A])
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return gains[rows, columns].sum()


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(2, 4), st.floats(0, 3))
def test_any_thresholds_are_valid(seed, k, q, sigma):
    rng = np.random.default_rng(seed)
    A = rng.uniform(-2, 2, (5, 6))
    classes = tuple(rng.permutation(5)[:q].tolist())
    cut = overlap_cut(A, classes, rng.uniform(-3, 3, q), sigma, k)
    for selected in combinations(range(6), 4):
        limit = cut.constant + cut.gains[list(selected)].sum()
        assert limit >= best_distinct(A[list(classes)], selected, k) - 1e-9


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_best_cut_of_two_classes_is_exact_at_a_selection(seed, k):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0, 2, 6)
    A = np.array([a, a + rng.uniform(0, 0.3, 6)])
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    cut = best_overlap(A, (0, 1), weight, k)
    value = cut.constant + cut.gains @ weight
    assert value == pytest.approx(best_distinct(A, range(4), k))


def test_four_equal_classes_lose_three_times():
    # All want {0, 1}; giving up feature 1 for 2 costs 1, 0 for 2 costs 2, 1 for 3 costs 1.5.
    A = np.tile([5.0, 4.0, 3.0, 2.5], (4, 1))
    cut = best_overlap(A, (0, 1, 2, 3), np.ones(4), 2)
    assert best_distinct(A, range(4), 2) == 4 * 9 - 1 - 2 - 1.5
    assert best_distinct(A, range(4), 2) - 1e-9 <= cut.constant + cut.gains.sum() <= 33.0


def test_groups_are_classes_with_the_same_features():
    A = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 0.0, 1.0], [0.0, 1.0, 2.0, 3.0], [3, 2, 0, 0]])
    order = np.argsort(-A, axis=1)
    share = shares(order, np.ones(4), 2)
    assert share.sum(axis=1).tolist() == [2.0] * 4
    groups = crowded_groups(share, np.ones(4), 2, OverlapParams(most_groups=10))
    assert (0, 1, 3) in groups
    assert all(2 not in group for group in groups)


def test_half_selected_features_crowd_as_well():
    A = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    weight = np.full(4, 0.5)
    share = shares(np.argsort(-A, axis=1), weight, 1)
    assert crowded_groups(share, weight, 1, OverlapParams(most_groups=10)) == [(0, 1)]
