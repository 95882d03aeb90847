"""The semidefinite bound against brute force: valid at every iterate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import qpopt
from qpopt import Instance
from qpopt.cuts.group_cuts import Group
from qpopt.cuts.thresholds import Thresholds
from qpopt.problem.subproblem import subproblem
from qpopt.relaxations.admm import AdmmParams
from qpopt.relaxations.semidefinite import SemidefiniteParams, SemidefiniteRelaxation
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value


def rounding(objective: float) -> float:
    return 1e-9 * max(1.0, abs(objective))


DOUBLE = SemidefiniteParams()
SINGLE = SemidefiniteParams(admm=AdmmParams(single_precision_from=0))
"""All that real instances are iterated in: they are large."""

both_precisions = pytest.mark.parametrize("params", [DOUBLE, SINGLE], ids=["double", "single"])


def started(instance, params):
    sub = subproblem(instance)
    assume(sub.n_select > 0)
    bound = SemidefiniteRelaxation(sub, params=params)
    assert bound.X.dtype == (np.float32 if params is SINGLE and sub.n_select > 1 else np.float64)
    return bound


@both_precisions
@settings(max_examples=60)
@given(awkward_instances(), st.integers(1, 4))
def test_every_iterate_is_valid(params, instance, steps):
    bound = started(instance, params)
    best = brute_force(instance).objective
    for _ in range(8):
        assert bound.proof()[0].value >= best - rounding(best)
        bound.round(steps)
    assert bound.proof()[0].value >= best - rounding(best)


@both_precisions
@settings(max_examples=40)
@given(awkward_instances(max_features=7), st.integers(1, 30))
def test_deciding_a_feature_is_valid(params, instance, steps):
    bound = started(instance, params)
    bound.round(steps)
    features = bound.proof()[0]
    for selection in all_selections(instance):
        z = value(instance, selection, best_class_sets(instance, selection))
        for position, d in enumerate(bound.sub.free):
            limit = features.with_feature if d in selection else features.without_feature
            assert limit[position] >= z - rounding(z)


@both_precisions
@settings(max_examples=60)
@given(awkward_instances(max_features=7), st.integers(1, 60), st.floats(0, 1))
def test_what_cannot_be_selected_is_in_no_better_solution(params, instance, steps, place):
    bound = started(instance, params)
    bound.round(steps)
    values = {
        selection: value(instance, selection, best_class_sets(instance, selection))
        for selection in map(tuple, all_selections(instance))
    }
    lowest, highest = min(values.values()), max(values.values())
    limit = lowest + place * (highest - lowest)
    _, found = bound.proof(limit)
    for selection, z in values.items():
        if z > limit + rounding(z):
            assert not set(bound.sub.free[found.features]) & set(selection)


@both_precisions
def test_converges_to_the_optimum_where_the_relaxation_is_exact(params, toy):
    bound = SemidefiniteRelaxation(subproblem(toy), params=params)
    for _ in range(40):
        bound.round()
    assert bound.proof()[0].value >= 12.9
    assert bound.proof()[0].value < 13.2


@both_precisions
def test_restricting_and_extending_keep_the_bound_valid(params):
    rng = np.random.default_rng(3)
    A = rng.uniform(0, 3, (4, 9))
    R = np.triu(rng.uniform(0, 1, (9, 9)) * (rng.random((9, 9)) < 0.5), 1)
    instance = Instance(A, R + R.T, rng.uniform(0, 1, 9), 4, 2)
    best = brute_force(instance)
    bound = SemidefiniteRelaxation(subproblem(instance, np.array(best.selection)), params=params)
    bound.round()
    bound.extend(subproblem(instance))
    for _ in range(12):
        bound.round()
        assert bound.proof()[0].value >= best.objective
    converged = bound.proof()[0].value
    rest = np.setdiff1d(np.arange(9), best.selection)
    bound.restrict(subproblem(instance, np.union1d(best.selection, rest[:2])))
    bound.round()
    assert best.objective <= bound.proof()[0].value <= converged + 0.05


def test_an_extension_changes_nothing_for_the_present_features():
    instance = qpopt.generate(40, 6, 6, 2, seed=4)
    bound = SemidefiniteRelaxation(subproblem(instance, np.arange(0, 40, 2)))
    for _ in range(6):
        bound.round()
    before, cuts = bound.objective(), bound.class_cuts
    bound.extend(subproblem(instance))
    assert bound.objective()[::2, ::2] == pytest.approx(before)
    # X has settled before thresholds follow it.
    assert np.array_equal(bound.class_cuts.shares, cuts.shares)
    for _ in range(3):
        bound.round()
    assert not np.array_equal(bound.class_cuts.shares, cuts.shares)


@pytest.mark.parametrize("huge", [1e4, 1e8, 1e12])
def test_what_huge_multipliers_lose_by_cancelling_is_paid(huge):
    """Thresholds −σ and σ say nothing that −2σ and 2σ do not, but for the digits."""
    instance = qpopt.generate(7, 3, 4, 3, seed=1)
    sub = subproblem(instance)
    bound = SemidefiniteRelaxation(sub)
    bound.round()
    thresholds = instance.A[:2].min() - np.array([huge, huge]) * 1.1
    groups = [Group((0, 1), 1.0, thresholds, 1.1 * huge)]
    bound._thresholds = Thresholds(sub, bound.class_cuts, groups)
    _, Q, B, _ = proven = bound._proven()
    for selection in all_selections(instance):
        z = value(instance, selection, best_class_sets(instance, selection))
        chosen = np.ix_(selection, selection)
        assert proven.offset + Q[chosen].sum() - B[chosen].sum() >= z
    assert proven.offset > bound.sub.constant + bound.admm.t * 4 + 1e-13 * huge
