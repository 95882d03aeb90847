"""The bound of a whole instance: growing sets, and fixing that never removes an optimum."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt.control.limits import Clock, Limits
from qpopt.proofs.params import RootParams, Stage
from qpopt.proofs.root import RootBound
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, just_below, value


@settings(max_examples=40)
@given(awkward_instances())
def test_fixing_never_removes_a_better_solution(instance):
    best = brute_force(instance)
    root = RootBound(instance)
    root.know(just_below(best.objective))  # the optimal selection is better and has to stay
    for _ in range(10):
        root.advance()
    root.finish()
    assert root.bound >= best.objective - 1e-9 * max(1.0, abs(best.objective))
    assert set(root.sub.included) <= set(best.selection)
    assert set(best.selection) <= set(root.sub.free) | set(root.sub.included)


def test_features_go_when_an_objective_is_known():
    instance = qpopt.generate(60, 8, 8, 3, seed=1)
    best = qpopt.solve(instance, method="search", time_limit=0.5)
    root = RootBound(instance)
    root.know(just_below(best.objective))
    for _ in range(60):
        root.advance()
    assert root.sub.n_free < 30
    assert root.bound >= best.objective
    assert set(best.selection) <= {*root.sub.free, *root.sub.included}


def test_growing_candidate_sets_end_with_all_features():
    stages = (Stage(1.0, 2, 0.0), Stage(1.7, 1, 0.0))
    params = RootParams(first=12, first_per_selected=0.0, stages=stages)
    instance = qpopt.generate(50, 6, 8, 3, seed=2)
    best = qpopt.solve(instance, method="search", time_limit=0.3).objective
    root = RootBound(instance, params=params)
    for _ in range(3):
        root.advance()
        assert root.bound == np.inf
    for _ in range(12):
        root.advance()
    assert best <= root.bound < np.inf
    hasty = RootBound(instance, params=params)
    hasty.finish()
    assert best <= hasty.bound < np.inf
    assert len(hasty.record.steps) == 1


@settings(max_examples=40)
@given(awkward_instances(max_features=8), st.integers(0, 6), st.integers(0, 4))
def test_parts_hold_everything_better_once(instance, size, rounds):
    best = brute_force(instance).objective
    known = best - 0.3 * max(1.0, abs(best))
    root = RootBound(instance)
    root.know(known)
    for _ in range(rounds):
        root.advance()
    root.finish()
    parts = root.parts(size)
    assert parts[0].bound == root.bound
    falling = [part.bound for part in parts]
    assert falling == sorted(falling, reverse=True)
    for selection in map(set, all_selections(instance)):
        z = value(instance, tuple(sorted(selection)), best_class_sets(instance, sorted(selection)))
        inside = [
            part
            for part in parts
            if set(part.included) <= selection <= set(part.included) | set(part.free)
        ]
        assert len(inside) <= 1
        if z > known + 1e-9 * max(1.0, abs(z)):
            assert len(inside) == 1
            assert inside[0].bound >= z - 1e-9 * max(1.0, abs(z))


def test_parts_of_less_promising_features_have_better_bounds():
    instance = qpopt.generate(60, 8, 8, 3, seed=1)
    known = 0.95 * qpopt.solve(instance, method="search", time_limit=0.5).objective
    root = RootBound(instance)
    for _ in range(20):
        root.advance()
    root.know(known)
    first, second, *others = root.parts(20)
    assert len(first.free) == len(second.free) == 20
    assert root.bound == first.bound > second.bound
    assert len(second.included) == 1
    assert others
    assert all(part.bound > known for part in others)


def test_decisions_that_leave_nothing_mean_that_nothing_is_better():
    instance = qpopt.generate(30, 5, 6, 2)
    root = RootBound(instance, free=np.arange(3))
    root.know(1.0)
    assert root.finished
    assert root.bound == 1.0


def staged(first, *stages):
    return RootParams(first=first, first_per_selected=0.0, worth_a_stage=1.0, stages=stages)


@settings(max_examples=40)
@given(awkward_instances(max_features=8), st.integers(1, 5), st.integers(1, 2), st.booleans())
def test_growing_candidate_sets_never_end_below_the_optimum(instance, first, rounds, hasty):
    best = brute_force(instance).objective
    first = max(first, instance.n_select - len(instance.include))
    stages = (Stage(1.0, rounds, 0.0), Stage(1.3, rounds, 0.0))
    root = RootBound(instance, params=staged(first, *stages))
    root.know(just_below(best))
    for _ in range(0 if hasty else 8):
        root.advance()
    root.finish()
    assert np.isfinite(root.bound)
    assert root.bound >= best - 1e-9 * max(1.0, abs(best))


def test_little_time_goes_to_all_features_at_once():
    """A clock with hardly any time left skips the candidate sets that are still to come."""
    instance = qpopt.generate(60, 6, 8, 3, seed=2)
    stages = (Stage(1.0, 2, 0.0), Stage(1.5, 100, 0.0))
    slow = RootBound(instance, params=staged(20, *stages))
    hasty = RootBound(instance, params=staged(20, *stages))
    for _ in range(3):
        slow.advance()
        hasty.advance(Clock(Limits(0.0)))
    assert slow.bound == np.inf
    assert hasty.bound < np.inf


def test_nothing_is_proven_twice():
    root = RootBound(qpopt.generate(30, 5, 6, 2))
    for _ in range(3):
        root.advance()
    root.finish()
    n_steps, known = len(root.record.steps), root.bound
    root._prove = None  # whatever called it would fail
    root.finish()
    assert (len(root.record.steps), root.bound) == (n_steps, known)
