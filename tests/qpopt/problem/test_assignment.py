from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import qpopt
from qpopt.problem import assignment
from qpopt.problem.assignment import assign


def best_similarity(rows, size):
    """Match the classes with all sets at once."""
    sets = [list(s) for s in combinations(range(rows.shape[1]), size)]
    worth = np.array([[row[s].sum() for s in sets] for row in rows])
    return worth[linear_sum_assignment(worth, maximize=True)].sum()


def check(rows, size, **options):
    selection = np.arange(rows.shape[1])
    found = assign(rows, selection, size, **options)
    assert found.shape == rows.shape
    assert (found.sum(axis=1) == size).all()
    assert len({row.tobytes() for row in found}) == len(rows)
    return rows[found].sum()


@st.composite
def problems(draw):
    n_selected = draw(st.integers(1, 7))
    size = draw(st.integers(1, n_selected))
    n_classes = draw(st.integers(1, min(12, comb(n_selected, size))))
    n_rows = draw(st.integers(1, n_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["ties", "real", "close"]))
    if kind == "ties":
        distinct = rng.integers(-2, 3, (n_rows, n_selected)).astype(float)
    elif kind == "real":
        distinct = rng.normal(size=(n_rows, n_selected))
    else:
        distinct = rng.normal(size=n_selected) + 0.05 * rng.normal(size=(n_rows, n_selected))
    rows = distinct[rng.integers(n_rows, size=n_classes)]
    return rows, size


@settings(deadline=None, max_examples=400)
@given(problems())
def test_agrees_with_a_matching_over_all_sets(problem):
    rows, size = problem
    assert check(rows, size) == pytest.approx(best_similarity(rows, size), abs=1e-9)


@settings(max_examples=200)
@given(problems(), st.integers(0, 60))
def test_cut_short_it_is_complete_and_not_better(problem, most):
    rows, size = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "WORK_PER_CALL", most)
        patch.setattr(assignment, "MOST_SPARE", 2)
        assert check(rows, size, over=lambda: True) <= best_similarity(rows, size) + 1e-9


def test_it_is_cut_short_where_all_sets_are_needed(monkeypatch):
    """126 classes with the 4-subsets of 9: most of them wait when the time is over."""
    rows = np.random.default_rng(0).random((126, 9))
    asked = []
    monkeypatch.setattr(assignment, "WORK_PER_CALL", 20_000)
    worth = check(rows, 4, over=lambda: len(asked) > 2 or asked.append(1))
    assert len(asked) == 3
    assert 0.8 * best_similarity(rows, 4) < worth < best_similarity(rows, 4)


def test_what_is_quick_is_never_cut_short():
    rows = np.random.default_rng(0).random((70, 8))
    worth = check(rows, 4, over=lambda: True)
    assert worth == pytest.approx(best_similarity(rows, 4))


def test_takes_the_best_sets_where_nothing_collides():
    rows = np.array([[3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    assert assign(rows, np.arange(4), 2).tolist() == [
        [True, True, False, False],
        [False, False, True, True],
    ]


def test_uses_only_the_selected_columns_in_their_order():
    A = np.array([[9.0, 1.0, 5.0, 7.0], [9.0, 1.0, 5.0, 7.0]])
    found = assign(A, np.array([3, 1, 2]), 1)
    assert sorted(found.tolist()) == [[False, False, True], [True, False, False]]


def test_an_outsider_yields_when_that_is_cheaper():
    # The first two want {0}; the second would lose 5, but the third gives up {1} for 1.
    rows = np.array([[9.0, 0.0, 0.0], [9.0, 8.0, 4.0], [0.0, 6.0, 5.0]])
    assert assign(rows, np.arange(3), 1).argmax(axis=1).tolist() == [0, 1, 2]


def test_one_class_may_take_everything():
    assert assign(np.array([[-1.0, 2.0, -3.0]]), np.arange(3), 3).all()


@pytest.mark.parametrize(("n_selected", "size"), [(50, 5), (3000, 1), (3000, 2999)])
def test_thousands_of_equal_classes_share_out_the_best_sets(n_selected, size):
    values = np.arange(n_selected, 0.0, -1.0)
    rows = np.tile(values, (3000, 1))
    total = check(rows, size)
    if size == 1:
        assert total == values.sum()
    elif size == n_selected - 1:
        assert total == 3000 * values.sum() - values.sum()
    else:
        worth = np.sort([sum(s) for s in combinations(values[:35], size)])[::-1]
        assert total == worth[:3000].sum()


def test_hundreds_of_different_rows_that_all_collide():
    rng = np.random.default_rng(0)
    rows = np.arange(20.0, 0.0, -1.0) + 1e-3 * rng.normal(size=(300, 20))
    sets = np.array(list(combinations(range(20), 3)))
    worth = rows[:, sets].sum(axis=2)
    expected = worth[linear_sum_assignment(worth, maximize=True)].sum()
    assert check(rows, 3) == pytest.approx(expected, abs=1e-9)


def test_too_few_sets_are_counted():
    with pytest.raises(qpopt.InfeasibleInstance, match="6 distinct sets, fewer than the 7"):
        assign(np.zeros((7, 4)), np.arange(4), 2)
