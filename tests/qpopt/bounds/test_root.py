"""The bound of a whole instance: growing sets, and fixing that never removes an optimum."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import qpopt
from qpopt.bounds.root import RootBound
from tests.awkward import awkward_instances
from tests.brute_force import brute_force


@settings(max_examples=40)
@given(awkward_instances())
def test_fixing_never_removes_a_better_solution(instance):
    best = brute_force(instance)
    # A little below the optimum, so that the optimal selection is better and has to stay.
    known = best.objective - 1e-3 * max(1.0, abs(best.objective))
    root = RootBound(instance)
    root.know(known)
    for _ in range(10):
        root.advance()
    root.finish()
    assert root.bound >= best.objective - 1e-9 * max(1.0, abs(best.objective))
    assert set(root.included) <= set(best.selection)
    assert set(best.selection) <= set(root.free) | set(root.included)


def test_features_go_when_an_objective_is_known():
    instance = qpopt.generate(60, 8, 8, 3, seed=1)
    best = qpopt.solve(instance, method="search", time_limit=0.5).objective
    root = RootBound(instance)
    root.know(best)
    for _ in range(60):
        root.advance()
    assert root.n_free < 60
    assert root.bound >= best


def test_growing_candidate_sets_end_with_all_features(monkeypatch):
    monkeypatch.setattr("qpopt.bounds.root.CANDIDATES", ((12, 2), (20, 1)))
    instance = qpopt.generate(50, 6, 8, 3, seed=2)
    best = qpopt.solve(instance, method="search", time_limit=0.3).objective
    root = RootBound(instance)
    for _ in range(3):
        root.advance()
        assert root.bound == np.inf
    for _ in range(12):
        root.advance()
    assert best <= root.bound < np.inf
    hasty = RootBound(instance)
    hasty.finish()
    assert best <= hasty.bound < np.inf
    assert len(hasty.certificate().steps) == 1


def test_decisions_that_leave_nothing_mean_that_nothing_is_better():
    instance = qpopt.generate(30, 5, 6, 2)
    root = RootBound(instance, free=np.arange(3))
    root.know(1.0)
    assert root.finished
    assert root.bound == 1.0
