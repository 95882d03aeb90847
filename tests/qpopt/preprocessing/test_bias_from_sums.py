import numpy as np
import pytest

from qpopt.preprocessing import center_from_sums, locality_from_sums


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
