"""The projected linear relaxation against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qpopt import Instance
from qpopt.control.limits import Clock
from qpopt.cuts.overlap import best_overlap
from qpopt.problem.subproblem import subproblem
from qpopt.relaxations.linear import LinearParams, LinearRelaxation
from qpopt.relaxations.step import Decided
from qpopt.verification.step_bounds import step_bounds
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value


@settings(max_examples=60)
@given(awkward_instances(), st.booleans(), st.booleans())
def test_every_round_is_valid(instance, cliques, overlaps):
    sub = subproblem(instance)
    assume(sub.n_select > 0)
    best = brute_force(instance).objective
    relaxation = LinearRelaxation(sub, cliques=cliques, overlaps=overlaps)
    more = True
    while more and relaxation.rounds < 15:
        assert relaxation.value().value >= best - 1e-9 * max(1.0, abs(best))
        more = relaxation.advance()
    assert relaxation.value().value >= best - 1e-9 * max(1.0, abs(best))


@settings(max_examples=30)
@given(awkward_instances(max_features=7))
def test_deciding_a_feature_is_valid(instance):
    sub = subproblem(instance)
    assume(sub.n_select > 0)
    relaxation = LinearRelaxation(sub)
    for _ in range(4):
        relaxation.advance()
    bound = relaxation.value()
    for selection in all_selections(instance):
        z = value(instance, selection, best_class_sets(instance, selection))
        for position, d in enumerate(sub.free):
            limit = bound.with_feature if d in selection else bound.without_feature
            assert limit[position] >= z - 1e-9 * max(1.0, abs(z))


@pytest.mark.parametrize("over", [False, True])
def test_overlaps_are_not_looked_for_beyond_the_time(monkeypatch, over):
    """Eight equal classes overlap in every pair; a clock that is over ends that after one."""
    instance = Instance(np.tile([4.0, 3.0, 2.0, 1.0, 0.0], (8, 1)), np.zeros((5, 5)), [0] * 5, 5, 2)
    looked = []

    def counting(*arguments):
        looked.append(1)
        return best_overlap(*arguments)

    monkeypatch.setattr("qpopt.relaxations.linear.best_overlap", counting)
    monkeypatch.setattr(Clock, "over", over)
    relaxation = LinearRelaxation(subproblem(instance))
    while not looked:
        relaxation.advance()
    assert (len(looked) == 1) is over


def test_thresholds_are_tight_without_redundancy():
    rng = np.random.default_rng(5)
    instance = Instance(rng.uniform(0, 1, (3, 10)), np.zeros((10, 10)), np.zeros(10), 4, 2)
    relaxation = LinearRelaxation(subproblem(instance))
    while relaxation.advance():
        pass
    best = brute_force(instance).objective
    assert best <= relaxation.value().value <= 1.02 * best


def test_overlap_cuts_see_uniqueness():
    # Both classes want features 0 and 1; one of them has to take another.
    A = [[5.0, 4.0, 1.0], [5.0, 4.0, 1.0]]
    instance = Instance(A, np.zeros((3, 3)), np.zeros(3), 3, 2)
    blind, seeing = (
        LinearRelaxation(subproblem(instance), overlaps=flag) for flag in (False, True)
    )
    for relaxation in (blind, seeing):
        while relaxation.advance():
            pass
    assert blind.value().value == pytest.approx(18.0)
    assert brute_force(instance).objective == 15.0
    assert 15.0 <= seeing.value().value <= 15.1


def test_clique_cuts_charge_redundancy():
    # Any two of the four features cost 3.
    R = 3.0 * (np.ones((4, 4)) - np.eye(4))
    instance = Instance(np.ones((1, 4)), R, np.zeros(4), 2, 1)
    without, with_cliques = (
        LinearRelaxation(subproblem(instance), cliques=flag) for flag in (False, True)
    )
    for relaxation in (without, with_cliques):
        while relaxation.advance():
            pass
    assert without.value().value == pytest.approx(1.0)
    assert with_cliques.value().value == pytest.approx(-2.0)


@pytest.mark.parametrize("seed", range(6))
def test_families_tighten_the_bound_and_a_check_sees_why(seed):
    rng = np.random.default_rng(seed)
    A = rng.uniform(0, 2, (1, 7)) + rng.uniform(0, 0.2, (5, 7))
    instance = Instance(A, np.zeros((7, 7)), rng.normal(0, 0.05, 7), 4, 2)
    best = brute_force(instance).objective
    relaxations = []
    for per_class in (0, 2):
        params = LinearParams(families_per_class=per_class)
        relaxations.append(LinearRelaxation(subproblem(instance), params=params))
        while relaxations[-1].advance():
            pass
    without, found = (one.value().value for one in relaxations)
    assert best - 1e-9 <= found < without - 1e-4
    none = np.zeros(0, dtype=np.int64)
    step = relaxations[1].step(Decided(none, none, np.zeros((0, 7))))
    assert any(group.family is not None for group in step.groups)
    assert best <= step_bounds(instance, step).value <= found + 1e-8
