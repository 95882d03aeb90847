from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from qpopt.methods.paper_repair import distinct_by_swaps
from qpopt.problem.objective import best_assignment


def test_the_cheapest_swap_inside_one_class():
    """Both classes have {0, 1}; class 1 loses 1 by taking 2 for 1, class 0 would lose 4."""
    A = np.array([[9.0, 8.0, 4.0], [9.0, 8.0, 7.0]])
    selection = np.arange(3)
    distinct = distinct_by_swaps(A, selection, best_assignment(A, selection, 2))
    assert distinct.tolist() == [[True, True, False], [True, False, True]]


def test_a_swap_makes_no_new_duplicate():
    """Class 2 already has {0, 2}, so class 1 must take {1, 2}, although that costs more."""
    A = np.array([[9.0, 8.0, 0.0], [9.0, 8.5, 8.0], [9.0, 1.0, 8.0]])
    selection = np.arange(3)
    distinct = distinct_by_swaps(A, selection, best_assignment(A, selection, 2))
    assert distinct.tolist() == [[1, 1, 0], [0, 1, 1], [1, 0, 1]]


@given(seed=st.integers(0, 10**6), n=st.integers(3, 6), equal=st.booleans())
def test_all_classes_differ_even_where_all_sets_are_used(seed, n, equal):
    rng = np.random.default_rng(seed)
    n_classes = n * (n - 1) // 2
    A = rng.random((1 if equal else n_classes, n)) * np.ones((n_classes, 1))
    selection = np.arange(n)
    distinct = distinct_by_swaps(A, selection, best_assignment(A, selection, 2))
    assert (distinct.sum(axis=1) == 2).all()
    assert len({row.tobytes() for row in distinct}) == n_classes
