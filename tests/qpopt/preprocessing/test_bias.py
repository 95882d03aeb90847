import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.preprocessing.bias import center_from_sums, locality_from_sums, scale_bias


def test_by_hand():
    # Quartiles of 0 … 8 are 2 and 6, so the fences of the ten values lie around 2.25 and 6.75:
    # 100 comes down to 6.75 + 1.5 · 4.5 = 13.5; the mean is then 4.95 and the largest is 8.55 off.
    raw = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 100])
    scaled, outliers, factor = scale_bias(raw, 2.0)
    assert factor == pytest.approx(2.0 / 8.55)
    assert outliers.tolist() == [9]
    expected = (np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 13.5]) - 4.95) * 2.0 / 8.55
    np.testing.assert_allclose(scaled, expected)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(np.array),
    st.floats(0, 10),
)
def test_largest_value_and_mean(raw, scale):
    scaled, _, _ = scale_bias(raw, scale)
    if scaled.any():
        assert np.abs(scaled).max() == pytest.approx(scale)
        assert scaled.mean() == pytest.approx(0, abs=1e-9)


def test_constant_bias_is_no_bias():
    scaled, outliers, factor = scale_bias(np.full(7, 0.1), 1.0)
    assert not scaled.any()
    assert factor == 0
    assert len(outliers) == 0


def test_locality_by_hand():
    # Two samples: max softmax 0.5 and 0.25 with features 2 and 6.
    weighted = [0.5 * 2 + 0.25 * 6, 0.0]
    b = locality_from_sums(weighted, [8.0, 0.0], 2)
    assert b.tolist() == pytest.approx([2.5 / (2 * 8), 0.0])


def test_center_is_negative_and_smaller_near_the_edge():
    features = np.array([3.0, 1.0])
    at_edge = center_from_sums([(features / (1 + np.array([0, 0]))).sum()], [4.0], 2)
    inside = center_from_sums([(features / (1 + np.array([2, 1]))).sum()], [4.0], 2)
    assert at_edge[0] == pytest.approx(-1 / 2)
    assert inside[0] == pytest.approx(-(1.0 + 0.5) / (2 * 4))
    assert at_edge[0] < inside[0] < 0
