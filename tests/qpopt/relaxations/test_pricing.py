"""Pricing: companions are selections of the right size, and none is much better."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from qpopt.relaxations.pricing import price


def slack(seed, n):
    factor = np.random.default_rng(seed).standard_normal((n, n))
    return factor @ factor.T / n


@pytest.mark.parametrize("seed", range(4))
def test_companions_are_the_best_selections(seed):
    """Against a general solver, one feature at a time."""
    rng = np.random.default_rng(seed)
    n, n_new, m = 8, 5, 4
    S, H = slack(seed, n), rng.standard_normal((n_new, n))
    found = price(S, H, m, steps=300)
    assert (found.points >= 0).all()
    np.testing.assert_allclose(found.points.sum(axis=1), m - 1, rtol=1e-4)
    for h, point, value in zip(H, found.points, found.values, strict=True):
        best = minimize(
            lambda x, h=h: x @ S @ x + 2 * x @ h,
            np.full(n, (m - 1) / n),
            jac=lambda x, h=h: 2 * S @ x + 2 * h,
            bounds=[(0, None)] * n,
            constraints={"type": "eq", "fun": lambda x: x.sum() - (m - 1)},
        )
        assert value == pytest.approx(-best.fun, rel=1e-3, abs=1e-3)
        assert value == pytest.approx(-(point @ S @ point + 2 * point @ h), rel=1e-4, abs=1e-4)


def test_what_a_companion_leaves_room_for():
    S, H = np.diag([2.0, 1.0]), np.array([[0.5, -1.0]])
    found = price(S, H, 2, steps=200)
    # min 2a² + b² + a − 2b over a + b = 1: a = 0, b = 1.
    np.testing.assert_allclose(found.points, [[0.0, 1.0]], atol=1e-4)
    np.testing.assert_allclose(found.rows, [[0.0, 1.0]], atol=1e-4)
    np.testing.assert_allclose(found.reach, [[-1.0, 0.0]], atol=1e-4)
    assert found.values[0] == pytest.approx(1.0, abs=1e-4)
