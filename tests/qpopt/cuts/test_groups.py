"""Groups: split or not, what they say holds for every selection, whatever is decided later."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance, generate
from qpopt.cuts.group_cuts import Group, GroupCuts, StackedCuts
from qpopt.cuts.group_search import GroupSearchParams
from qpopt.cuts.groups import GroupParams, Groups
from qpopt.cuts.overlap import best_overlap, overlap_cut
from qpopt.cuts.split_thresholds import SplitThresholds, class_columns
from qpopt.kernels.auction import improve_multipliers
from qpopt.problem.subproblem import subproblem
from tests.brute_force import all_selections
from tests.qpopt.cuts.fractional import noise
from tests.qpopt.cuts.together import gain, matrix


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 1))
def test_any_split_is_valid_and_stays_so_when_features_are_decided(seed, k, n_included):
    rng = np.random.default_rng(seed)
    A = rng.uniform(-1, 2, (1, 7)) + rng.uniform(0, 0.3, (2, 7))
    included = list(range(n_included))
    instance = Instance(A, np.zeros((7, 7)), np.zeros(7), 4, k, include=included)
    sub = subproblem(instance)
    n = sub.n_free
    size = np.abs(instance.A).max()
    i, decided = (int(d) for d in rng.integers(0, n, 2))
    thresholds, given_thresholds = size * rng.normal(size=(2, 2))
    sigma, given_sigma = (size * rng.random(2)).tolist()
    group = Group((0, 1), 1.0, thresholds, sigma, i, given_thresholds, given_sigma)
    free = np.delete(sub.free, decided)
    position = np.where(np.arange(n) == decided, -1, np.arange(n) - (np.arange(n) > decided))
    selected = np.append(sub.included, sub.free[decided])
    nothing = np.zeros(0, dtype=np.int64)
    parts = [
        (sub, group),
        (subproblem(instance, free, sub.included), group.renumbered(position, nothing)),
        (
            subproblem(instance, free, selected),
            group.renumbered(position, np.array([decided])),
        ),
    ]
    for part, numbered in parts:
        M = matrix(part, numbered)
        for selection in all_selections(instance):
            chosen = set(selection)
            if not set(part.included) <= chosen <= {*part.free, *part.included}:
                continue
            s = np.isin(part.free, selection).astype(float)
            limit = gain(instance, selection, (0, 1))
            assert s @ M @ s >= limit - 1e-9 * max(1.0, size)


def test_a_split_is_exact_where_the_diagonal_says_little():
    # Half of the selections hold 0 and 1, for which the classes quarrel, half hold 2 and 3.
    A = np.array([[5.0, 4.0, 2.0, 0.0, 1.0, 1.0], [5.0, 4.0, 0.0, 2.0, 1.0, 1.0]])
    instance = Instance(A, np.zeros((6, 6)), np.zeros(6), 4, 2)
    sub = subproblem(instance)
    first, second = (0, 1, 4, 5), (2, 3, 4, 5)
    points = [np.isin(np.arange(6), one).astype(float) for one in (first, second)]
    X = sum(np.outer(s, s) for s in points) / 2
    splits = SplitThresholds(sub)
    single = splits.renew(X)
    groups = Groups(sub, splits.columns, params=GroupParams(search=GroupSearchParams(steps=1000)))
    groups.update(X, single, splits, 1.0)
    (group,) = groups.groups
    assert group.feature in (0, 1, 2, 3)
    exact = (gain(instance, first, (0, 1)) + gain(instance, second, (0, 1))) / 2
    assert exact == (9 + 6 + 3 + 3) / 2
    assert (matrix(sub, group) * X).sum() == pytest.approx(exact, abs=2e-3)


def test_groups_that_have_become_the_same_are_one():
    sub = subproblem(generate(12, 5, 5, 3, seed=1))
    rng = np.random.default_rng(0)
    X, splits = np.full((12, 12), 5 * 4 / (12 * 11)), SplitThresholds(sub)
    np.fill_diagonal(X, 5 / 12)
    otherwise = rng.normal(size=3)
    nothing, position = np.zeros(0, dtype=np.int64), np.full(12, -1)
    split = [Group((0, 1, 2), 0.2, otherwise, 1.0, i, rng.normal(size=3), 2.0) for i in (3, 7)]
    same = [group.renumbered(position, nothing) for group in split]
    groups = Groups(sub, class_columns(sub), same)
    assert [group.share for group in groups.groups] == [0.4]
    groups.update(X, splits.renew(X), splits, 0.3)


def test_all_cuts_at_once_say_what_each_says():
    rng = np.random.default_rng(0)
    sub = subproblem(generate(12, 5, 5, 3, seed=1))
    groups = [
        Group((0, 1, 2), 1.0, rng.normal(size=3), 1.0, i, rng.normal(size=3), 2.0)
        for i in (3, 3, 7)
    ]
    groups.append(Group((3, 4), 1.0, rng.normal(size=2), 1.0))
    cuts = [GroupCuts(sub).cut(group) for group in groups]
    X = noise(rng, 12, 5)
    X *= 5 / np.trace(X)
    factors, M = rng.random(4), np.zeros((12, 12))
    stacked = StackedCuts(cuts, sub)
    stacked.add_to(M, factors)
    alone = np.array([cut.at(X) for cut in cuts])
    assert stacked.at(X) == pytest.approx(alone)
    assert (M * X).sum() == pytest.approx(factors @ alone)
    assert (M == M.T).all()


@pytest.mark.parametrize("seed", range(4))
def test_shares_move_towards_a_smaller_residual_and_never_take_too_much(seed):
    rng = np.random.default_rng(seed)
    A = rng.uniform(0, 1, (1, 10)) + rng.uniform(0, 0.1, (5, 10))
    sub = subproblem(Instance(A, np.zeros((10, 10)), np.zeros(10), 5, 3))
    X = noise(rng, 10, 5)
    splits = SplitThresholds(sub)
    single = splits.renew(X)
    groups = Groups(sub, splits.columns)
    groups.update(X, single, splits, 0.3)
    assert groups.groups
    residual = noise(rng, 10, 5) - 0.3
    before, change = np.linalg.norm(residual), np.zeros((10, 10))
    groups.step(residual, splits, change)
    assert np.linalg.norm(residual) <= before + 1e-12
    assert change.any()
    assert groups.left.min() >= 0.0
    assert min(group.share for group in groups.groups) > 0.0


@pytest.mark.parametrize("q", [2, 3, 4])
def test_steps_come_near_the_best_multipliers(q):
    rng, excess = np.random.default_rng(q), []
    for k in (1, 2, 3) * 10:
        rows = rng.uniform(0, 1, 8) + rng.uniform(0, 0.2, (q, 8))
        weight = rng.uniform(0, 1, 8)
        best = best_overlap(rows, tuple(range(q)), weight, k)
        start = np.full(q, float(rows.mean()))
        thresholds, sigma, value = improve_multipliers(rows, weight, k, start, 0.05, 0.05, 2000)
        cut = overlap_cut(rows, tuple(range(q)), thresholds, sigma, k)
        assert sigma >= 0.0
        assert value == pytest.approx(cut.constant + cut.gains @ weight)
        excess.append(value - best.constant - best.gains @ weight)
    assert max(excess) < 0.1
    assert np.mean(excess) < 0.01
