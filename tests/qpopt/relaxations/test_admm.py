"""The alternating direction method on a relaxation whose value is known."""

from __future__ import annotations

import numpy as np
import pytest

from qpopt.relaxations.admm import Admm


def test_converges_to_the_known_value_of_a_diagonal_objective():
    # Without off-diagonal terms the best X is that of the best selection.
    C = np.diag([5.0, 4.0, 3.0, 1.0, 0.5, 0.2])
    admm = Admm(C, 3)
    for _ in range(600):
        admm.step()
    assert 3 * admm.t == pytest.approx(12.0, abs=1e-2)
    assert np.diagonal(admm.X) == pytest.approx([1, 1, 1, 0, 0, 0], abs=2e-2)


def test_the_iterate_becomes_feasible():
    rng = np.random.default_rng(0)
    R = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.5), 1)
    C = np.diag(rng.random(12)) - 0.5 * (R + R.T)
    admm = Admm(C, 4)
    for _ in range(800):
        admm.step()
    X = admm.X
    assert np.trace(X) == pytest.approx(4.0, abs=1e-2)
    assert X.sum(axis=1) == pytest.approx(4 * np.diagonal(X), abs=2e-2)
    assert X.min() > -1e-2
    assert np.linalg.eigvalsh(X)[0] > -1e-2
    D = admm.slack(C)
    assert np.abs(D - admm.S - admm.N).max() < 1e-2


def test_a_copy_goes_its_own_way():
    admm = Admm(np.diag([3.0, 2.0, 1.0, 0.0]), 2)
    admm.step()
    twin = admm.copy()
    before = admm.X.copy()
    twin.step()
    assert np.array_equal(admm.X, before)
    assert not np.array_equal(twin.X, before)
