"""The enumeration against trying everything."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qpopt import Instance, generate
from qpopt.problem.subproblem import subproblem
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation
from qpopt.search.enumeration import Enumeration, Relaxation
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, value


def all_values(instance):
    """Z of every selection with its best assignment."""
    return {
        selection: value(instance, selection, best_class_sets(instance, selection))
        for selection in all_selections(instance)
    }


def enumerated(instance, objective, steps, relaxation=None):
    """All that the enumeration gives for an objective that stays as it is."""
    part = Enumeration(subproblem(instance), relaxation)
    found = []
    while not part.finished:
        found += [tuple(selection.tolist()) for selection in part.advance(objective, steps)]
    assert part.advance(objective, steps) == []
    return found


@settings(max_examples=150)
@given(awkward_instances(), st.floats(0, 1), st.sampled_from([1, 7, 10**6]))
def test_gives_every_better_selection_once(instance, share, steps):
    assume(subproblem(instance).n_select > 0)
    values = all_values(instance)
    objective = float(np.quantile(list(values.values()), share))
    found = enumerated(instance, objective, steps)
    assert len(found) == len(set(found))
    assert set(found) <= set(values)
    assert set(found) >= {one for one, z in values.items() if z > objective}


@settings(max_examples=80)
@given(awkward_instances(), st.floats(0, 1), st.integers(0, 4))
def test_a_relaxation_loses_nothing(instance, share, rounds):
    sub = subproblem(instance)
    assume(sub.n_select > 0)
    semidefinite = SemidefiniteRelaxation(sub)
    for _ in range(rounds):
        semidefinite.round(5)
    relaxation = semidefinite.relaxation()
    values = all_values(instance)
    for selection, z in values.items():
        s = np.isin(sub.free, selection).astype(float)
        assert z <= relaxation.offset + s @ relaxation.Q @ s + 1e-9 * max(1.0, abs(z))
    objective = float(np.quantile(list(values.values()), share))
    found = enumerated(instance, objective, 10**6, relaxation)
    assert len(found) == len(set(found))
    assert set(found) >= {one for one, z in values.items() if z > objective}


def test_a_relaxation_spares_work():
    instance = generate(20, 6, 6, 2, seed=2)
    n = instance.n_features
    costly = Relaxation(1000.0, -1000.0 * (np.ones((n, n)) - np.eye(n)))
    assert enumerated(instance, 0.0, 10**6, costly) == []
    assert enumerated(instance, 0.0, 10**6) != []


@given(awkward_instances())
def test_without_an_objective_gives_all(instance):
    assume(subproblem(instance).n_select > 0)
    assert sorted(enumerated(instance, -inf, 10**6)) == sorted(all_selections(instance))


def test_passes_over_what_uniqueness_makes_worse():
    A = np.array([[9.0, 1.0, 5.0], [9.0, 2.0, 5.0]])
    instance = Instance(A, np.zeros((3, 3)), np.zeros(3), n_select=2, n_per_class=1)
    # Alone every class would gain 9 from {0, 1}; one of them has to take 2 or less.
    assert enumerated(instance, 13.0, 10**6) == [(0, 2)]


@pytest.mark.parametrize("scale", [1e10, 1e13, 1e16])
def test_loses_nothing_where_large_terms_cancel_out(scale):
    for seed in range(20):
        A = scale * (1 + np.random.default_rng(seed).uniform(0, 4e-15, (3, 8)))
        instance = Instance(A, np.zeros((8, 8)), np.full(8, -1.5 * scale), 4, 2)
        values = all_values(instance)
        objective = sorted(values.values())[-2]
        found = enumerated(instance, objective, 10**6)
        assert set(found) >= {one for one, z in values.items() if z > objective}


def test_more_features_than_a_number_has_bits():
    instance = generate(70, 4, 67, 2, seed=1)
    best = max(_values_of_some(instance))
    found = enumerated(instance, best, 10**6)
    assert found
    assert all(len(selection) == 67 for selection in found)


def _values_of_some(instance):
    rng = np.random.default_rng(0)
    for _ in range(20):
        selection = tuple(np.sort(rng.permutation(70)[:67]).tolist())
        yield value(instance, selection, best_class_sets(instance, selection))


def test_stops_where_it_is_told_and_goes_on():
    instance = generate(20, 6, 6, 2, seed=2)
    part = Enumeration(subproblem(instance))
    part.advance(-inf, 3)
    assert not part.finished
    assert part.advance(inf, 10**6) == []
    assert part.finished
