"""Overlap cuts against all pairs of distinct sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.bounds.overlap import best_overlap, overlap_cut


def best_distinct(a, other, selected, k):
    sets = list(combinations(selected, k))
    return max(
        sum(a[d] for d in first) + sum(other[d] for d in second)
        for first in sets
        for second in sets
        if first != second
    )


@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(-3, 3), st.floats(-3, 3), st.floats(0, 3))
def test_any_thresholds_are_valid(seed, k, tau, tau_other, sigma):
    rng = np.random.default_rng(seed)
    a, other = rng.uniform(-2, 2, (2, 6))
    cut = overlap_cut(a, other, (tau, tau_other, sigma), k)
    for selected in combinations(range(6), 4):
        limit = cut.constant + cut.gains[list(selected)].sum()
        assert limit >= best_distinct(a, other, selected, k) - 1e-9


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_best_cut_is_nearly_exact_at_a_selection(seed, k):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0, 2, 6)
    other = a + rng.uniform(0, 0.3, 6)
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    cut = best_overlap(a, other, weight, k)
    exact = best_distinct(a, other, range(4), k)
    free = np.sort(a[:4])[-k:].sum() + np.sort(other[:4])[-k:].sum()
    value = cut.constant + cut.gains @ weight
    assert exact - 1e-9 <= value <= free + 1e-9
    assert value == pytest.approx(exact, abs=0.25 * (free - exact) + 5e-3)
