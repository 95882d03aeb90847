"""FeatureRanking: the order in which features are taken up."""

from __future__ import annotations

import numpy as np

import qpopt
from qpopt import Instance
from qpopt.problem.subproblem import subproblem
from qpopt.relaxations.ranking import FeatureRanking
from tests.brute_force import brute_force

A = np.array([[5.0, 4.0, 3.0, 1.0, 0.0], [5.0, 4.0, 3.0, 0.0, 1.0]])


def redundant(*pairs):
    R = np.zeros((5, 5))
    for i, j in pairs:
        R[i, j] = R[j, i] = 9.0
    return R


def test_redundancy_with_the_selection_counts():
    # Each class needs one feature more at 3, so the gains are 4, 2, 0, 0, 0 before redundancy.
    sub = subproblem(Instance(A, redundant((0, 1)), np.array([0, 0, 0, 0.2, 0.1]), 3, 2))
    order = FeatureRanking(sub).given(np.array([1.0, 0.0, 1.0, 0.0, 0.0]))
    assert order.tolist() == [0, 3, 4, 2, 1]


def test_included_features_count_as_selected():
    instance = Instance(A, redundant(), np.array([0, 0, 0.3, 0.2, 0.1]), 3, 2, include=[0, 1])
    # The classes have what they need at 4: nothing is left but bias.
    order = FeatureRanking(subproblem(instance)).given(np.zeros(3))
    assert order.tolist() == [0, 1, 2]


def test_the_best_selection_comes_early():
    places = []
    for seed in range(10):
        instance = qpopt.generate(14, 6, 4, 2, seed=seed)
        order = FeatureRanking(subproblem(instance)).first()
        assert sorted(order) == list(range(14))
        places += [order.tolist().index(d) for d in brute_force(instance).selection]
    # Without any sense for the problem it would be 6.5.
    assert np.mean(places) < 4.5
