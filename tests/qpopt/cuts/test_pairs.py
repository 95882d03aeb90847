"""Cuts of two classes that share all features but one each."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.cuts.overlap import overlap_cut
from qpopt.cuts.pairs import best_of_pair


def best_pair(rows, selection, k):
    """Return what two sets of k features with k − 1 in common are worth at the most."""
    first, second = rows
    best = -np.inf
    for common in combinations(selection, k - 1):
        rest = [d for d in selection if d not in common]
        worth = first[list(common)].sum() + second[list(common)].sum()
        for d in rest:
            for e in rest:
                if d != e:
                    best = max(best, worth + first[d] + second[e])
    return best


@given(seed=st.integers(0, 9999), k=st.integers(1, 3), n_select=st.integers(4, 6))
def test_strongest_cut_is_the_best_pair_of_a_whole_selection(seed, k, n_select):
    rng = np.random.default_rng(seed)
    A = rng.integers(-5, 6, (4, 8)).astype(float)
    selection = np.sort(rng.choice(8, n_select, replace=False))
    weight = np.zeros(8)
    weight[selection] = 1.0
    cut = best_of_pair(A, (1, 3), weight, k)
    expected = best_pair(A[[1, 3]], selection.tolist(), k)
    assert cut.constant + cut.gains @ weight == pytest.approx(expected)


@given(seed=st.integers(0, 9999), sigma=st.floats(-6, 6))
def test_every_cut_holds_for_every_selection(seed, sigma):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 6))
    cut = overlap_cut(A, (0, 1), rng.normal(size=2), sigma, 2)
    for selection in combinations(range(6), 4):
        reached = cut.constant + cut.gains[list(selection)].sum()
        assert reached >= best_pair(A, selection, 2) - 1e-9
