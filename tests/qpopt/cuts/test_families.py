"""Families: what they say holds for every selection, whatever is decided later."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance
from qpopt.cuts.families import family_cut, family_of
from qpopt.cuts.family_search import FamilyParams, FamilySearch
from qpopt.cuts.group_cuts import Group
from qpopt.problem.subproblem import subproblem
from tests.brute_force import all_selections
from tests.qpopt.cuts.together import gain, matrix

EXACT = FamilyParams(accuracy=1e-9, rounds=200)


def crowded(rng, classes, features, n_select, k, included=()):
    A = rng.uniform(-1, 2, (1, features)) + rng.uniform(0, 0.3, (classes, features))
    return Instance(
        A, np.zeros((features, features)), np.zeros(features), n_select, k, include=list(included)
    )


def drawn_family(rng, instance, classes, most_parts=10_000):
    core = np.sort(rng.permutation(instance.n_features)[: rng.integers(1, 6)])
    rows, size = instance.A[list(classes)], np.abs(instance.A).max()
    thresholds, prices = size * rng.normal(size=len(rows)), size * rng.random(len(core))
    family, _, _ = family_of(
        rows[:, core], core, prices, thresholds, instance.n_per_class, most_parts
    )
    return thresholds, family


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 1), st.sampled_from([3, 10_000]))
def test_any_family_is_valid_and_stays_so_when_features_are_decided(seed, k, n_included, parts):
    rng = np.random.default_rng(seed)
    instance = crowded(rng, 3, 7, 4, k, range(n_included))
    sub = subproblem(instance)
    i, decided = (int(d) for d in rng.integers(0, sub.n_free, 2))
    classes, n = (0, 1, 2), sub.n_free
    thresholds, family = drawn_family(rng, instance, classes, parts)
    given_thresholds, given_family = drawn_family(rng, instance, classes, parts)
    group = Group(classes, 1.0, thresholds, 0.0, i, given_thresholds, 0.0, family, given_family)
    position = np.where(np.arange(n) == decided, -1, np.arange(n) - (np.arange(n) > decided))
    free, nothing = np.delete(sub.free, decided), np.zeros(0, dtype=np.int64)
    selected = np.append(sub.included, sub.free[decided])
    parts_ = [
        (sub, group),
        (subproblem(instance, free, sub.included), group.renumbered(position, nothing)),
        (subproblem(instance, free, selected), group.renumbered(position, np.array([decided]))),
    ]
    for part, numbered in parts_:
        M = matrix(part, numbered)
        for selection in all_selections(instance):
            if not set(part.included) <= set(selection) <= {*part.free, *part.included}:
                continue
            s = np.isin(part.free, selection).astype(float)
            assert s @ M @ s >= gain(instance, selection, classes) - 1e-8


def test_prices_and_thresholds_are_the_best_ones():
    """Where half of the selections are these and half are those, nothing exact gives less."""
    A = np.array([[5.0, 4.0, 2.0, 0.0], [5.0, 4.0, 0.0, 2.0], [5.0, 4.0, 1.0, 1.0]])
    sub = subproblem(Instance(A, np.zeros((4, 4)), np.zeros(4), 3, 2))
    columns, classes = sub.columns(), (0, 1, 2)
    for weight, most in (
        (np.array([1.0, 1.0, 1.0, 0.0]), 9 + 6 + 7),
        (np.array([1.0, 1.0, 0.5, 0.5]), (9 + 6 + 7 + 9 + 6 + 7) / 2),
    ):
        found = FamilySearch(EXACT).best(columns, sub, classes, weight, np.inf)
        assert found is not None
        cut = family_cut(columns, sub, classes, *found)
        value = cut.constant + cut.gains @ weight
        assert value >= most - 1e-9
        # Nothing that every selection obeys can say less than the best of what is selected.
        assert value == pytest.approx(most, abs=0.75)
        assert FamilySearch(EXACT).best(columns, sub, classes, weight, most - 1.0) is None


def test_what_is_known_of_a_family_serves_where_features_are_decided():
    rng = np.random.default_rng(0)
    instance = crowded(rng, 4, 9, 5, 2)
    search, classes = FamilySearch(EXACT), (0, 1, 2, 3)
    for free, included in ((np.arange(9), []), (np.arange(1, 8), []), (np.arange(2, 8), [0])):
        sub = subproblem(instance, free, np.array(included, dtype=np.int64))
        columns = sub.columns()
        weight = np.append(np.full(sub.n_free, 4 / sub.n_free), np.ones(len(included)))
        again = search.best(columns, sub, classes, weight, np.inf)
        fresh = FamilySearch(EXACT).best(columns, sub, classes, weight, np.inf)
        assert again is not None
        assert fresh is not None
        values = []
        for found in (again, fresh):
            cut = family_cut(columns, sub, classes, *found)
            values.append(cut.constant + cut.gains @ weight)
        # Its core was chosen where more was open, so it may say more.
        assert values[0] <= values[1] + 1e-5
