from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance, InvalidInstance, Objective
from tests.strategies import instances


def definition(instance: Instance, s: list[int], W: list[list[int]]) -> float:
    """Z as the specification writes it, with 0/1 vectors over all features."""
    n_classes, n_features = instance.A.shape
    d_range = range(n_features)
    similarity = sum(instance.A[c, d] * W[c][d] * s[d] for c in range(n_classes) for d in d_range)
    redundancy = sum(instance.R[d, e] * s[d] * s[e] for d, e in combinations(d_range, 2))
    return similarity - redundancy + sum(instance.b[d] * s[d] for d in d_range)


def test_toy_by_hand(toy, toy_best):
    parts = toy.objective(toy_best.selection, toy_best.assignment)
    assert parts == pytest.approx(Objective(12.9, 12.0, 0.0, 0.9))


def test_redundant_pair_is_charged_once(toy):
    parts = toy.objective([0, 1, 2])
    assert parts == pytest.approx(Objective(12.1, 14.0, 2.5, 0.6))


@given(instances(), st.data())
def test_equals_the_definition(instance, data):
    bits = st.integers(0, 1)
    s = data.draw(st.lists(bits, min_size=instance.n_features, max_size=instance.n_features))
    W = np.array(
        data.draw(
            st.lists(
                st.lists(bits, min_size=instance.n_features, max_size=instance.n_features),
                min_size=instance.n_classes,
                max_size=instance.n_classes,
            )
        )
    )
    expected = definition(instance, s, W.tolist())
    mask = np.array(s, dtype=bool)
    assert instance.objective(mask, W).total == pytest.approx(expected, abs=1e-9)
    selection = np.flatnonzero(mask)
    if len(selection) != instance.n_features:
        assert instance.objective(selection, W[:, selection]).total == pytest.approx(
            expected, abs=1e-9
        )


def test_columns_follow_the_order_of_the_selection(toy):
    forward = toy.objective([0, 1, 2, 3], [[1, 0, 0, 0], [0, 1, 0, 0]])
    backward = toy.objective([3, 2, 1, 0], [[0, 0, 0, 1], [0, 0, 1, 0]])
    assert forward == pytest.approx(backward)


@given(instances(max_features=7, max_classes=3), st.data())
def test_without_assignment_every_class_takes_its_best(instance, data):
    selection = data.draw(st.permutations(range(instance.n_features)))[: instance.n_select]
    best = sum(
        max(sum(row[list(members)]) for members in combinations(selection, instance.n_per_class))
        for row in instance.A
    )
    assert instance.objective(selection).similarity == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(
    ("selection", "assignment", "message"),
    [
        ([0, 0, 1], None, "twice"),
        ([0, 1, 4], None, "names feature 4; there are only 4"),
        ([0.0, 1.0], None, "indices"),
        ([0], None, "cannot give every class"),
        ([0, 1, 2], [[1, 1], [1, 1]], "shape"),
        ([0, 1, 2], [[2, 0, 0], [1, 1, 0]], "only 0 and 1"),
        ([[0], [1, 2]], None, "A selection must be an array"),
        ([0, 1, 2], [[1], [1, 1, 0]], "An assignment must be an array"),
    ],
)
def test_bad_arguments(toy, selection, assignment, message):
    with pytest.raises(InvalidInstance, match=message):
        toy.objective(selection, assignment)
