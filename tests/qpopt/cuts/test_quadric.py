"""Cuts on X: valid for every selection, violated where they say so."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qpopt.cuts.quadric import QuadricCut, QuadricCuts, separate


def fractional(rng, n, m):
    """Return a mix of selections with noise: nearly feasible, and it violates some cuts."""
    X = np.full((n, n), m * (m - 1) / (n * (n - 1)))
    np.fill_diagonal(X, m / n)
    drop = rng.random((n, n)) < 0.4
    X[np.triu(drop, 1) | np.triu(drop, 1).T] = 0.0
    return X


@given(st.integers(0, 10**6))
def test_separated_cuts_are_violated_and_hold_for_selections(seed):
    rng = np.random.default_rng(seed)
    X = fractional(rng, 8, 4)
    cuts = QuadricCuts(separate(X))
    assume(len(cuts) > 0)
    assert (cuts.values(X) > cuts.limits).all()
    assert len(set(cuts.cuts)) == len(cuts)
    for chosen in combinations(range(8), 4):
        s = np.zeros(8)
        s[list(chosen)] = 1.0
        assert (cuts.values(np.outer(s, s)) <= cuts.limits).all()


@given(
    st.integers(-3, 4),
    st.lists(st.integers(0, 7), min_size=2, max_size=6, unique=True),
    st.integers(0, 6),
)
def test_every_level_and_every_pair_of_sets_is_valid(level, members, n_plus):
    cuts = QuadricCuts([QuadricCut(level, tuple(members[:n_plus]), tuple(members[n_plus:]))])
    for chosen in combinations(range(8), 4):
        s = np.isin(np.arange(8), chosen).astype(float)
        u = s[members[:n_plus]].sum() - s[members[n_plus:]].sum()
        missing = cuts.limits[0] - cuts.values(np.outer(s, s))[0]
        assert missing == (u - level) * (u - level - 1) / 2


def test_some_cuts_are_found():
    # 1, 2 and 3 exclude each other, yet each goes with 0 more than a third of the time.
    X = np.zeros((4, 4))
    X[0, 0] = 1.0
    for j in (1, 2, 3):
        X[j, j] = X[0, j] = X[j, 0] = 0.6
    assert QuadricCut(0, (1, 2, 3), (0,)) in separate(X)


def test_pairs_are_found():
    X = np.diag([0.5, 0.8, 0.9])
    X[0, 1] = X[1, 0] = 0.6
    X[1, 2] = X[2, 1] = 0.6
    found = separate(X)
    assert QuadricCut(0, (1,), (0,)) in found
    assert QuadricCut(1, (1, 2), ()) in found
    assert QuadricCut(0, (0,), (1,)) not in found


def test_of_three_features_that_exclude_each_other_only_one_is_selected():
    X = np.diag([0.5, 0.5, 0.5])
    assert QuadricCut(1, (0, 1, 2), ()) in separate(X)


def test_matrices_and_values_belong_together():
    sets = [QuadricCut(0, (1, 2), (0,)), QuadricCut(2, (0, 1, 2), (3,))]
    cuts = QuadricCuts(sets, np.array([0.5, 2.0]))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 4))
    X += X.T
    M = np.zeros((4, 4))
    cuts.add_to(M, cuts.multipliers)
    assert (M * X).sum() == pytest.approx(cuts.multipliers @ cuts.values(X))
    assert np.array_equal(M, M.T)
    assert cuts.paid == 6.0


def test_steps_end_at_the_best_multipliers():
    rng = np.random.default_rng(1)
    sets = []
    for _ in range(12):
        members = rng.permutation(6)[: rng.integers(3, 6)].tolist()
        sets.append(QuadricCut(int(rng.integers(3)), tuple(members[:2]), tuple(members[2:])))
    cuts = QuadricCuts(sets, rng.random(12))
    M = rng.normal(size=(6, 6))
    M += M.T
    before, first = M.copy(), cuts.multipliers.copy()
    values = [np.inf]
    for _ in range(3000):
        cuts.step(M, penalty=2.0)
        values.append(0.5 * (M * M).sum() + cuts.paid / 2.0)
    assert (np.diff(values) <= 1e-12).all()
    expected = before.copy()
    cuts.add_to(expected, cuts.multipliers - first)
    assert pytest.approx(expected) == M
    # The conditions of optimality: no gradient where it could be followed.
    gradient = cuts.values(M) + cuts.limits / 2.0
    assert (gradient >= -1e-6).all()
    assert np.abs(gradient[cuts.multipliers > 0]).max() < 1e-6


def test_renewed_keeps_what_is_useful():
    sets = [QuadricCut(0, (1, 2), (0,)), QuadricCut(0, (1, 2), (3,)), QuadricCut(0, (2, 4), (1,))]
    renewed = QuadricCuts(sets, np.array([1.0, 0.0, 2.0])).renewed(np.zeros((5, 5)))
    assert renewed.cuts == [sets[0], sets[2]]
    assert renewed.multipliers.tolist() == [1.0, 2.0]


@given(st.integers(0, 10**6))
def test_restricted_cuts_say_the_same(seed):
    rng = np.random.default_rng(seed)
    sets = []
    for _ in range(6):
        members = rng.permutation(7)[: rng.integers(2, 6)].tolist()
        sets.append(QuadricCut(int(rng.integers(3)), tuple(members[:2]), tuple(members[2:])))
    cuts = QuadricCuts(sets, rng.random(6))
    fate = rng.integers(0, 3, 7)
    keep = np.flatnonzero(fate == 0)
    position = np.full(7, -1)
    position[keep] = np.arange(len(keep))
    rest = cuts.renumbered(position, np.flatnonzero(fate == 1))
    left = [sum(fate[d] == 0 for d in cut.plus + cut.minus) > 1 for cut in sets]
    for bits in range(1 << len(keep)):
        s = (fate == 1).astype(float)
        s[keep] = [bits >> p & 1 for p in range(len(keep))]
        before = cuts.multipliers[left] @ (cuts.limits - cuts.values(np.outer(s, s)))[left]
        inner = np.outer(s[keep], s[keep])
        after = rest.paid - rest.multipliers @ rest.values(inner)
        assert after == pytest.approx(before)
