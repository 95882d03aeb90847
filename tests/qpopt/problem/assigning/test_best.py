"""The best assignment of a selection under demands, against trying all assignments."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from qpopt import Average, Instance
from qpopt.errors import InfeasibleInstance
from qpopt.problem.assigning.best import best_found, worth
from qpopt.problem.demands.fulfilment import misfit, unmet
from qpopt.problem.objective import objective
from tests.demanded import best_demanded, demanded, made


def of_selection(instance, selection):
    """Return what a selection is worth without any assignment, and its best Z by trying all."""
    nothing = np.zeros((instance.n_classes, len(selection)), dtype=bool)
    rest = objective(instance.A, instance.R, instance.b, selection, nothing).total
    others = [d for d in range(instance.n_features) if d not in selection]
    only = Instance(
        instance.A, instance.R, instance.b, instance.n_select, instance.n_per_class,
        include=instance.include, exclude=others, **instance.demands.arguments(),
    )  # fmt: skip
    return rest, best_demanded(only)


@settings(max_examples=60)
@given(drawn=demanded())
def test_best_found_equals_trying_all(drawn):
    instance = made(drawn)
    if instance is None:
        return
    for features in list(combinations(range(instance.n_features), instance.n_select))[:4]:
        selection = np.array(features, dtype=np.int64)
        if misfit(instance, selection):
            continue
        try:
            rest, best = of_selection(instance, selection)
        except InfeasibleInstance:
            best = None
        found = best_found(instance, selection, seconds=30.0)
        quick = best_found(instance, selection)
        assert found.best
        if best is None:
            assert found.signs is None
            assert quick.signs is None
            assert found.bound == -np.inf
            continue
        assert found.value + rest == pytest.approx(best.objective, abs=1e-6)
        assert quick.value <= found.value + 1e-9
        assert quick.bound + rest >= best.objective - 1e-6
        for one in (found, quick):
            if one.signs is not None:
                assert not unmet(instance, selection, one.signs)
                assert one.value == pytest.approx(worth(instance, selection, one.signs))


def test_grows_where_features_are_worth_most():
    A = np.array([[9.0, 8.0, 7.0, 1.0], [2.0, 1.0, 0.5, 0.0], [3.0, 2.5, 0.1, 0.2]])
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 4, 2, budget=Average(1, 4))
    found = best_found(instance, np.arange(4))
    assert found.best
    # 9 + 8 + 7 + 1 of class 0 would leave the others one each: 25 + 2 + 3 = 30 is less than this.
    assert found.value == pytest.approx(9 + 8 + 7 + 2 + 3 + 2.5)


def test_negatives_make_sets_differ():
    A = np.array([[5.0, -4.0, 1.0], [5.0, -4.0, 1.0]])
    instance = Instance(A, np.zeros((3, 3)), np.zeros(3), 3, 2, negative=1)
    found = best_found(instance, np.arange(3))
    assert found.best
    assert found.value == pytest.approx((5 + 4) + (5 + 1))
    assert sorted(map(tuple, found.signs.tolist())) == [(1, -1, 0), (1, 0, 1)]


def test_no_assignment_is_told():
    A = np.ones((2, 4))
    instance = Instance(
        A, np.zeros((4, 4)), np.zeros(4), 3, 2, forbidden=[(0, 0), (0, 1)], include=[0]
    )
    found = best_found(instance, np.array([0, 1, 2]))
    assert found.signs is None
    assert found.bound == -np.inf
