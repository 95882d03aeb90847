"""Cuts on X: valid for every selection, violated where they say so."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.bounds.cuts import Cuts, separate


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
    cuts = Cuts(separate(X))
    if not len(cuts):
        return
    assert (cuts.values(X) > 0).all()
    assert len(set(cuts.sets)) == len(cuts)
    for chosen in combinations(range(8), 4):
        s = np.zeros(8)
        s[list(chosen)] = 1.0
        assert (cuts.values(np.outer(s, s)) <= 0).all()


def test_some_cuts_are_found():
    # 1, 2 and 3 exclude each other, yet each goes with 0 more than a third of the time.
    X = np.zeros((4, 4))
    X[0, 0] = 1.0
    for j in (1, 2, 3):
        X[j, j] = X[0, j] = X[j, 0] = 0.6
    found = separate(X)
    assert (0, 1, 2, 3) in found
    assert (0, 1, 2) in found


def test_matrices_and_values_belong_together():
    cuts = Cuts([(0, 1, 2), (3, 0, 1, 2)], np.array([0.5, 2.0]))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 4))
    X += X.T
    M = np.zeros((4, 4))
    cuts.add_to(M, cuts.multipliers)
    assert (M * X).sum() == pytest.approx(cuts.multipliers @ cuts.values(X))
    assert np.array_equal(M, M.T)


def test_steps_are_short_enough():
    rng = np.random.default_rng(1)
    sets = [tuple(rng.permutation(6)[: rng.integers(3, 6)].tolist()) for _ in range(30)]
    cuts = Cuts(sets)
    T = np.zeros((30, 36))
    for r in range(30):
        M = np.zeros((6, 6))
        cuts.add_to(M, np.eye(30)[r])
        T[r] = M.ravel()
    scaled = np.sqrt(cuts.steps)[:, None] * T
    assert np.linalg.norm(scaled, 2) <= 1.0 + 1e-9


def test_restricted_and_renewed():
    cuts = Cuts([(0, 1, 2), (3, 1, 2), (1, 2, 4)], np.array([1.0, 0.0, 2.0]))
    rest = cuts.restricted(np.array([1, 2, 4]), 5)
    assert rest.sets == [(0, 1, 2)]
    assert rest.multipliers.tolist() == [2.0]
    renewed = cuts.renewed(np.zeros((5, 5)))
    assert renewed.sets == [(0, 1, 2), (1, 2, 4)]
    assert renewed.multipliers.tolist() == [1.0, 2.0]
