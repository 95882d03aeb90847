"""Subproblems: Z is the same, whichever features are decided."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.problem.subproblem import subproblem
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, value


@given(awkward_instances(max_features=6), st.integers(0, 100))
def test_z_is_the_same(instance, seed):
    rng = np.random.default_rng(seed)
    selections = list(all_selections(instance))
    selection = selections[rng.integers(len(selections))]
    extra = np.array(selection)[rng.random(len(selection)) < 0.5]
    sub = subproblem(instance, included=extra)
    assert sub.feasible
    chosen = np.isin(sub.free, selection)
    assert chosen.sum() == sub.n_select
    columns = np.concatenate([sub.A[:, chosen], sub.forced], axis=1)
    similarity = np.sort(columns, axis=1)[:, -instance.n_per_class :].sum()
    s = chosen.astype(float)
    z = sub.constant + similarity - 0.5 * s @ sub.R @ s + sub.b @ s
    expected = value(instance, selection, best_class_sets(instance, selection, distinct=False))
    assert z == pytest.approx(expected)


def test_too_few_features_are_not_feasible(toy):
    assert not subproblem(toy, np.array([0, 1])).feasible
    assert subproblem(toy, np.array([0, 1]), np.array([2])).feasible
    assert not subproblem(toy, None, np.arange(4)).feasible
