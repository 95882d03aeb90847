import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt.preprocessing.bias import scale_bias


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
