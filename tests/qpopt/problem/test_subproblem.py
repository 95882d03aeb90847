"""Reduced instances: Z is the same, whichever features are decided."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.problem.subproblem import reduce
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, value


@given(awkward_instances(max_features=6), st.integers(0, 100))
def test_z_is_the_same(instance, seed):
    rng = np.random.default_rng(seed)
    selections = list(all_selections(instance))
    selection = selections[rng.integers(len(selections))]
    extra = np.array(selection)[rng.random(len(selection)) < 0.5]
    reduced = reduce(instance, included=extra)
    assert reduced.feasible
    chosen = np.isin(reduced.free, selection)
    assert chosen.sum() == reduced.n_select
    columns = np.concatenate([reduced.A[:, chosen], reduced.forced], axis=1)
    similarity = np.sort(columns, axis=1)[:, -instance.n_per_class :].sum()
    s = chosen.astype(float)
    z = reduced.constant + similarity - 0.5 * s @ reduced.R @ s + reduced.b @ s
    expected = value(instance, selection, best_class_sets(instance, selection, distinct=False))
    assert z == pytest.approx(expected)


def test_too_few_features_are_not_feasible(toy):
    assert not reduce(toy, np.array([0, 1])).feasible
    assert reduce(toy, np.array([0, 1]), np.array([2])).feasible
    assert not reduce(toy, None, np.arange(4)).feasible
