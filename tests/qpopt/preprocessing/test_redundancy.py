import numpy as np
import pytest
from hypothesis import given

from qpopt import InvalidInstance, redundancy
from tests.strategies import raw_similarities


def test_by_hand():
    A = [[1.0, 2.0, 0.0, -1.0, 0.0], [0.0, 0.0, 3.0, 0.0, 0.0], [1.0, 0.0, 0.0, -1.0, 0.0]]
    expected = np.zeros((5, 5))
    expected[0, 1] = expected[1, 0] = 2**-0.5
    np.testing.assert_allclose(redundancy(A), expected, atol=1e-15)


@given(raw_similarities(max_features=12, max_classes=6))
def test_equals_the_cosine_of_the_columns(A):
    R = redundancy(A)
    assert (R == R.T).all()
    assert not np.diagonal(R).any()
    assert R.min() >= 0
    assert R.max() <= 1
    lengths = np.linalg.norm(A, axis=0)
    for d in range(A.shape[1]):
        for e in range(A.shape[1]):
            if d != e and lengths[d] > 1e-100 and lengths[e] > 1e-100:
                cosine = A[:, d] / lengths[d] @ (A[:, e] / lengths[e])
                assert R[d, e] == pytest.approx(max(0.0, cosine), abs=1e-12)


def test_wider_than_one_tile():
    A = np.random.default_rng(0).standard_normal((7, 1100))
    units = A / np.linalg.norm(A, axis=0)
    expected = np.maximum(units.T @ units, 0)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(redundancy(A), expected, atol=1e-14)


def test_any_scale():
    A = np.random.default_rng(0).standard_normal((5, 8))
    for scale in (1e-300, 1e90):
        np.testing.assert_allclose(redundancy(A * scale), redundancy(A), atol=1e-14)


def test_right_angles_are_no_redundancy():
    orthogonal, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))
    assert not redundancy(orthogonal).any()


def test_nan_is_refused():
    with pytest.raises(InvalidInstance, match=r"A\[0, 1\] is nan"):
        redundancy([[1.0, np.nan]])
