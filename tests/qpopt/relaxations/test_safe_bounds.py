"""Safe values against all selections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.relaxations.eigenvalues import eigenvalue_deficit
from qpopt.relaxations.safe_bounds import row_bound, rows_value
from tests.brute_force import indicators


@st.composite
def matrices(draw, size=7):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, size))
    Q = (
        rng.integers(-3, 3, (n, n)).astype(float)
        if draw(st.booleans())
        else rng.normal(size=(n, n))
    )
    return (Q + Q.T) / 2, draw(st.integers(1, n))


@given(matrices())
def test_rows_bound_every_selection_and_every_decision(case):
    Q, m = case
    n = len(Q)
    bound = row_bound(Q, m)
    assert bound.value == pytest.approx(rows_value(Q, m))
    for s in indicators(n, m):
        value = s @ Q @ s - 1e-12
        assert value <= bound.value
        for d in range(n):
            limit = bound.with_feature if s[d] else bound.without_feature
            assert value <= limit[d]
    assert (bound.with_feature <= bound.value + 1e-9).all()
    assert (bound.without_feature <= bound.value + 1e-9).all()


def test_rows_are_exact_where_the_best_rows_agree():
    Q = np.full((5, 5), -1.0)
    Q[:3, :3] = 2.0
    assert rows_value(Q, 3) == pytest.approx(18.0)
    assert row_bound(Q, 3).with_feature[4] == pytest.approx(2 * 2 * 2 - 1 * 5)


@given(matrices())
def test_the_deficit_makes_a_matrix_positive_semidefinite(case):
    B, _ = case
    deficit = eigenvalue_deficit(B)
    smallest = np.linalg.eigvalsh(B)[0]
    assert deficit >= max(0.0, -smallest)
    assert deficit <= max(0.0, -smallest) + 1e-12
