"""Split threshold cuts: valid, stronger than plain ones, and the same after a decision."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance
from qpopt.cuts.split_thresholds import SplitParams, SplitThresholdCuts, SplitThresholds
from qpopt.kernels.split_thresholds import project_shares
from qpopt.problem.subproblem import subproblem


def top(A, chosen, k):
    return np.sort(A[:, list(chosen)], axis=1)[:, -k:].sum(axis=1)


def problem(seed, n=7, m=4, k=2, q=3, included=()):
    rng = np.random.default_rng(seed)
    A = rng.uniform(-1, 1, (q, n))
    return Instance(A, np.zeros((n, n)), np.zeros(n), m, k, include=included)


def any_cuts(rng, n, q, each=4):
    """Return cuts that nobody chose: features and thresholds at random."""
    classes = np.repeat(np.arange(q), each)
    size = len(classes)
    return SplitThresholdCuts(
        classes,
        rng.integers(-1, n, size),
        rng.uniform(-1.5, 1.5, size),
        rng.uniform(-1.5, 1.5, size),
        np.full(size, 1 / each),
    )


@given(st.integers(0, 10**6), st.booleans())
def test_any_features_and_thresholds_are_valid(seed, with_included):
    instance = problem(seed, included=(1, 3) if with_included else ())
    sub = subproblem(instance)
    rng = np.random.default_rng(seed)
    splits = SplitThresholds(sub, any_cuts(rng, sub.n_free, 3))
    for chosen in combinations(range(7), 4):
        if not set(instance.include) <= set(chosen):
            continue
        s = np.isin(sub.free, chosen).astype(float)
        values = splits.at(np.outer(s, s))
        assert (values >= top(instance.A, chosen, 2)[splits.cuts.classes] - 1e-12).all()


@given(st.integers(0, 10**6))
def test_matrices_and_values_belong_together(seed):
    rng = np.random.default_rng(seed)
    sub = subproblem(problem(seed, included=(2,)))
    splits = SplitThresholds(sub, any_cuts(rng, 6, 3))
    X = rng.normal(size=(6, 6))
    X += X.T
    factors = rng.normal(size=len(splits.cuts.classes))
    M = np.zeros((6, 6))
    splits.add_to(M, factors)
    assert (M * X).sum() == pytest.approx(factors @ splits.at(X))
    assert np.allclose(M, M.T)


def test_a_split_sees_what_a_plain_threshold_does_not():
    # The relaxed solution is half {0, 1}, half {2, 3}.
    A = np.array([[4.0, 1.0, 4.0, 1.0]])
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 2, 1)
    X = np.zeros((4, 4))
    X[:2, :2] = X[2:, 2:] = 0.5
    splits = SplitThresholds(subproblem(instance))
    assert splits.renew(X) == pytest.approx(4.0)
    A = np.array([[4.0, 3.0, 1.0, 0.0]])
    splits = SplitThresholds(subproblem(Instance(A, np.zeros((4, 4)), np.zeros(4), 2, 1)))
    # Given 0 it gains 4, otherwise 1; the diagonal alone would allow ½ · 4 + ½ · 3.
    assert splits.renew(X) == pytest.approx(2.5)
    assert splits.cuts.shares @ splits.at(X) == pytest.approx(2.5)


def test_shares_move_to_the_stronger_cut():
    A = np.array([[4.0, 3.0, 1.0, 0.0]])
    sub = subproblem(Instance(A, np.zeros((4, 4)), np.zeros(4), 2, 1))
    X = np.zeros((4, 4))
    X[:2, :2] = X[2:, 2:] = 0.5
    cuts = SplitThresholdCuts(
        np.zeros(2, np.int64), np.array([-1, 0]), np.array([3.0, 4.0]), np.array([3.0, 1.0]),
        np.array([1.0, 0.0]),
    )  # fmt: skip
    splits = SplitThresholds(sub, cuts)
    for _ in range(100):
        splits.step(-X, np.ones(1))
    assert splits.cuts.shares == pytest.approx([0.0, 1.0])


def test_cuts_without_a_share_are_forgotten():
    rng = np.random.default_rng(0)
    most_idle = 2
    splits = SplitThresholds(subproblem(problem(0)), params=SplitParams(most_idle=most_idle))
    for _ in range(3 * most_idle):
        X = rng.random((7, 7))
        X = (X + X.T) / 2
        np.fill_diagonal(X, 4 / 7)
        splits.renew(X)
    assert len(splits.cuts.classes) <= 3 * 2 * (most_idle + 1)
    assert np.bincount(splits.cuts.classes, weights=splits.cuts.shares) == pytest.approx(1.0)


@given(st.integers(0, 10**6))
def test_decided_features_leave_the_same_cuts(seed):
    rng = np.random.default_rng(seed)
    instance = problem(seed, n=6, m=3)
    splits = SplitThresholds(subproblem(instance), any_cuts(rng, 6, 3))
    keep, removed, included = np.array([0, 2, 5]), [1, 4], np.array([3])
    position = np.array([0, -1, 1, -1, -1, 2])
    rest = subproblem(instance, keep, included)
    fewer = SplitThresholds(rest, splits.cuts.renumbered(position, included))
    for chosen in combinations(keep.tolist(), 2):
        s = np.isin(np.arange(6), [*chosen, 3]).astype(float)
        assert not s[removed].any()
        t = s[keep]
        assert fewer.at(np.outer(t, t)) == pytest.approx(splits.at(np.outer(s, s)))


@given(st.integers(0, 10**6))
def test_a_sweep_makes_the_residual_smaller_and_keeps_account(seed):
    rng = np.random.default_rng(seed)
    sub = subproblem(problem(seed, included=(2,)))
    splits = SplitThresholds(sub, any_cuts(rng, 6, 3))
    residual = rng.normal(size=(6, 6))
    residual += residual.T
    left = rng.uniform(0.1, 1.0, 3)
    before = residual.copy()
    change = splits.step(residual, left, sweeps=1)
    expected = before.copy()
    splits.add_to(expected, -change * left[splits.cuts.classes])
    assert residual == pytest.approx(expected)
    assert np.linalg.norm(residual) <= np.linalg.norm(before) + 1e-12


def test_sweeps_end_at_the_nearest_average():
    rng = np.random.default_rng(4)
    sub = subproblem(problem(4))
    splits = SplitThresholds(sub, any_cuts(rng, 7, 3))
    wanted = rng.dirichlet(np.ones(4), 3).ravel()
    residual = np.zeros((7, 7))
    splits.add_to(residual, wanted - splits.cuts.shares)
    splits.step(residual, np.ones(3), sweeps=20_000)
    assert np.abs(residual).max() < 1e-6


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6))
def test_projection_is_the_nearest_point(row):
    wanted = np.array(row)
    shares = wanted.copy()
    project_shares(shares)
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)
    # Nearest: the direction to the wanted point has no component along the simplex.
    slack = wanted - shares
    assert (slack <= slack[shares > 0].max() + 1e-9).all()
    assert np.ptp(slack[shares > 0]) <= 1e-9


@given(st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=6))
def test_shares_add_up_to_one_however_far_the_step(row):
    shares = np.array(row)
    project_shares(shares)
    assert shares.min() >= 0.0
    assert abs(shares.sum() - 1.0) <= 1e-15 * len(row)
