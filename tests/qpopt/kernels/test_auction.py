import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import Instance
from qpopt.kernels.auction import uniqueness_cost
from qpopt.kernels.swap import swap
from qpopt.problem.assignment import assign
from qpopt.search.integer_instance import in_units
from qpopt.search.swap_state import new_state
from qpopt.search.tabu_memory import new_auction
from tests.awkward import awkward_instances


def estimate(instance, selection):
    """The estimated cost of uniqueness, and the size of a unit."""
    problem, unit = in_units(instance)
    auction = new_auction(problem)
    state = new_state(problem, np.array(selection))
    return uniqueness_cost(problem, state, auction, -1, 0) * unit, auction.paid * unit


def true_cost(instance, selection):
    free = instance.objective(selection).total
    assignment = assign(instance.A, selection, instance.n_per_class)
    return free - instance.objective(selection, assignment).total


@settings(max_examples=200)
@given(awkward_instances(max_features=9, max_classes=3))
def test_with_few_classes_the_estimate_is_a_real_cost(instance):
    selection = np.arange(instance.n_select)
    cost, paid = estimate(instance, selection)
    _, unit = in_units(instance)
    assert cost == pytest.approx(paid.sum())
    assert cost >= true_cost(instance, selection) - 100 * unit


@settings(max_examples=200)
@given(awkward_instances(max_features=10, max_classes=8), st.integers(0, 2**32 - 1))
def test_the_estimate_before_a_swap_is_the_one_after_it(instance, seed):
    rng = np.random.default_rng(seed)
    problem, _ = in_units(instance)
    auction = new_auction(problem)
    order = rng.permutation(instance.n_features)
    if instance.n_select == instance.n_features:
        return
    state = new_state(problem, order[: instance.n_select])
    place, entering = int(rng.integers(instance.n_select)), int(order[-1])
    foreseen = uniqueness_cost(problem, state, auction, place, entering)
    swap(problem, state, place, entering, np.empty(instance.n_features, np.int32))
    assert uniqueness_cost(problem, state, auction, -1, 0) == foreseen


def test_classes_that_are_distinct_pay_nothing():
    instance = Instance([[3.0, 2.0, 0.0], [0.0, 2.0, 3.0]], np.zeros((3, 3)), np.zeros(3), 3, 2)
    assert estimate(instance, range(3))[0] == 0


def test_the_class_that_loses_least_gives_way():
    # Both want {0, 1}; the first would lose 1 by {0, 2}, the second 4.
    instance = Instance([[9.0, 5.0, 4.0], [9.0, 5.0, 1.0]], np.zeros((3, 3)), np.zeros(3), 3, 2)
    cost, paid = estimate(instance, range(3))
    assert cost == pytest.approx(1, abs=1e-5)
    assert paid.tolist() == pytest.approx([1, 0], abs=1e-5)


def test_an_outsider_gives_way_when_that_is_cheaper():
    # The second class wants {0} like the first; it takes {1} from the third, which loses only 1.
    A = [[9.0, 0.0, 0.0], [9.0, 8.0, 4.0], [0.0, 6.0, 5.0]]
    instance = Instance(A, np.zeros((3, 3)), np.zeros(3), 3, 1)
    assert estimate(instance, range(3))[1].tolist() == pytest.approx([0, 1, 1], abs=1e-5)


def test_a_price_as_high_as_going_without_is_still_paid():
    # After the first bid the price of {0} is exactly what the other class would lose elsewhere.
    instance = Instance(
        [[2.0, 1.0], [1.0, 0.0]], np.zeros((2, 2)), [-0.91805295, -0.96694473], 2, 1
    )
    assert estimate(instance, range(2))[0] == pytest.approx(1, abs=1e-5)
