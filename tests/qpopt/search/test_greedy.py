import numpy as np
from hypothesis import given

from qpopt import Instance
from qpopt.kernels.greedy_fill import fill
from qpopt.search.greedy import greedy
from qpopt.search.integer_instance import in_units
from tests.awkward import awkward_instances


def value(instance, selection):
    """Z of a selection of any size; a class that has too few features counts 0 for the others."""
    best = np.sort(np.maximum(instance.A[:, selection], 0), axis=1)[:, -instance.n_per_class :]
    pairs = np.triu(instance.R[np.ix_(selection, selection)], 1)
    return best.sum() - pairs.sum() + instance.b[selection].sum()


@given(awkward_instances())
def test_every_feature_added_gains_as_much_as_any_other(instance):
    problem, unit = in_units(instance)
    selected = np.zeros(instance.n_select, np.int64)
    n_include = len(instance.include)
    selected[:n_include] = instance.include
    fill(problem, selected, n_include, problem.allowed, 1, np.ones(1, np.uint64))
    for n in range(n_include, instance.n_select):
        others = set(range(instance.n_features)) - set(selected[:n]) - set(instance.exclude)
        reached = max(value(instance, [*selected[:n], d]) for d in others)
        assert value(instance, selected[: n + 1]) >= reached - 500 * unit


@given(awkward_instances())
def test_include_and_exclude_are_respected(instance):
    selection = greedy(instance, in_units(instance)[0]).tolist()
    assert selection == sorted(set(selection))
    assert len(selection) == instance.n_select
    assert set(instance.include) <= set(selection)
    assert not set(instance.exclude) & set(selection)


def test_redundancy_keeps_the_twin_out():
    R = np.zeros((3, 3))
    R[0, 1] = R[1, 0] = 7.5
    instance = Instance([[9.0, 8.0, 1.0]], R, np.zeros(3), 2, 2)
    assert greedy(instance, in_units(instance)[0]).tolist() == [0, 2]


def test_a_wider_choice_draws_among_the_best():
    instance = Instance([[5.0, 4.0, 3.0, 0.0]], np.zeros((4, 4)), np.zeros(4), 1, 1)
    problem, _ = in_units(instance)
    random = np.array([7], np.uint64)
    drawn = set()
    for _ in range(100):
        selected = np.zeros(1, np.int64)
        fill(problem, selected, 0, problem.allowed, 2, random)
        drawn.add(int(selected[0]))
    assert drawn == {0, 1}
