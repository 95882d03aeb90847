"""Features in no selection above a limit, against all selections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.relaxations.eigenvalues import eigenvalue_deficit
from qpopt.relaxations.fixing import FeatureFixing
from qpopt.relaxations.safe_bounds import row_bound
from tests.brute_force import indicators


@st.composite
def cases(draw, size=7):
    """Draw Q, B that is nearly positive semidefinite, n_select and a diagonal."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(2, size))
    Q = -np.abs(rng.normal(size=(n, n))) * draw(st.sampled_from([0.0, 0.1, 3.0]))
    V = rng.normal(size=(n, draw(st.integers(1, n))))
    B = V @ V.T - draw(st.sampled_from([0.0, 0.1])) * np.eye(n)
    m = draw(st.integers(1, n))
    diagonal = draw(st.sampled_from([np.zeros(n), np.full(n, m / n), rng.uniform(-1, 2, n)]))
    return (Q + Q.T) / 2, B, m, diagonal


def best_values(Q, B, m):
    """Return the largest sᵀQs − sᵀBs of the selections with every feature."""
    best = np.full(len(Q), -np.inf)
    for s in indicators(len(Q), m):
        best[s > 0] = np.maximum(best[s > 0], s @ (Q - B) @ s)
    return best


@given(cases(), st.floats(-2, 2))
def test_no_feature_of_a_better_selection_is_found(case, shift):
    Q, B, m, diagonal = case
    best = best_values(Q, B, m)
    for limit in (best.min() + shift, best.max() + shift, np.median(best)):
        found = FeatureFixing(Q, B, eigenvalue_deficit(B), m, diagonal).unselectable(limit)
        assert (best[found.features] <= limit).all()


@given(cases())
def test_every_feature_is_found_below_a_limit_that_is_high_enough(case):
    Q, B, m, diagonal = case
    limit = 10.0 + m**2 * (np.abs(Q).max() + np.abs(B).max())
    found = FeatureFixing(Q, B, eigenvalue_deficit(B), m, diagonal).unselectable(limit)
    assert found.features.tolist() == (list(range(len(Q))) if 1 < m < len(Q) else [])


@given(cases())
def test_values_bound_every_selection_with_the_feature(case):
    Q, B, m, diagonal = case
    values, points = FeatureFixing(Q, B, eigenvalue_deficit(B), m, diagonal).values()
    assert points.shape == Q.shape
    best = best_values(Q, B, m)
    assert (values >= best - 1e-12 * np.maximum(1.0, np.abs(best))).all()


def test_values_stopped_at_once_are_valid():
    Q, B = -np.ones((4, 4)), np.eye(4)
    values, _ = FeatureFixing(Q, B, 0.0, 2, np.zeros(4)).values(lambda: True)
    assert (values >= best_values(Q, B, 2)).all()
    assert np.isfinite(values).all()


def test_curvature_tells_more_than_rows():
    # Features 0 and 1 cancel out; 2 has nothing to cancel it, which only B knows.
    B = np.array(
        [[1.0, -1.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.5, 1.0]]
    )
    Q = np.zeros((4, 4))
    assert (row_bound(Q, 2).with_feature >= 0.0).all()
    assert best_values(Q, B, 2).tolist() == [0.0, 0.0, -2.0, -2.0]
    found = FeatureFixing(
        Q, B, eigenvalue_deficit(B), 2, np.array([1.0, 1.0, 0.0, 0.0])
    ).unselectable(-0.5)
    assert found.features.tolist() == [2, 3]


@pytest.mark.parametrize("limit", [-np.inf, np.nan])
def test_without_a_limit_nothing_is_found(limit):
    found = FeatureFixing(np.zeros((3, 3)), np.eye(3), 0.0, 2, np.zeros(3)).unselectable(limit)
    assert len(found.features) == 0
    assert found.points.shape == (0, 3)


def test_stopping_at_once_finds_nothing():
    forcing = FeatureFixing(np.zeros((3, 3)), np.eye(3), 0.0, 2, np.zeros(3))
    assert len(forcing.unselectable(100.0).features) == 3
    assert len(forcing.unselectable(100.0, stop=lambda: True).features) == 0
