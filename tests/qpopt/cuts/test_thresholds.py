"""Thresholds, splits and groups: never below what the classes gain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from qpopt import Instance
from qpopt.cuts.thresholds import Thresholds
from qpopt.problem.subproblem import subproblem
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets
from tests.qpopt.cuts.fractional import noise


def gain(instance, selection):
    sets = best_class_sets(instance, selection)
    return sum(instance.A[c, list(members)].sum() for c, members in enumerate(sets))


@settings(max_examples=60)
@given(awkward_instances(max_features=7))
def test_the_average_is_valid(instance):
    sub = subproblem(instance)
    n, m = sub.n_free, sub.n_select
    assume(m > 0)
    rng = np.random.default_rng(0)
    thresholds = Thresholds(sub)
    for weight in (1.0, 0.5, 0.3, 0.2):
        thresholds.update(noise(rng, n, m), weight, groups=True)
        before, change = thresholds.matrix(), thresholds.step(noise(rng, n, m) - 0.5)
        assert thresholds.matrix() - before == pytest.approx(change, abs=1e-9)
        cuts = thresholds.splits.cuts
        assert cuts.shares.min() >= 0.0
        assert np.bincount(cuts.classes, weights=cuts.shares) == pytest.approx(1.0)
        assert thresholds.left.min() >= 0.0
    matrix = thresholds.matrix()
    for selection in all_selections(instance):
        s = np.isin(sub.free, selection).astype(float)
        assert s @ matrix @ s >= gain(instance, selection) - 1e-9


def test_exact_at_a_selection_without_collisions():
    rng = np.random.default_rng(1)
    instance = Instance(rng.uniform(0, 1, (3, 6)), np.zeros((6, 6)), np.zeros(6), 4, 2)
    sub = subproblem(instance)
    selection = (0, 2, 3, 5)
    s = np.isin(np.arange(6), selection).astype(float)
    thresholds = Thresholds(sub)
    thresholds.update(np.outer(s, s), 1.0)
    expected = np.sort(instance.A[:, selection], axis=1)[:, -2:].sum()
    assert s @ thresholds.matrix() @ s == pytest.approx(expected)


def test_groups_charge_collisions():
    A = np.tile([5.0, 4.0, 3.0, 0.0], (3, 1))
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 3, 2)
    s = np.array([1.0, 1.0, 1.0, 0.0])
    thresholds = Thresholds(subproblem(instance))
    thresholds.update(np.outer(s, s), 1.0, groups=True)
    assert gain(instance, (0, 1, 2)) == 24.0
    assert s @ thresholds.matrix() @ s == pytest.approx(24.0)
