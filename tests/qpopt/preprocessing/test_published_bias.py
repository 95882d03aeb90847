import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import MeanShift, estimate_bandwidth

from qpopt import InvalidInstance, prepare
from qpopt.preprocessing import PublishedBias
from qpopt.preprocessing.published_bias import clustered_bias, mean_shift


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 3))
def test_clusters_are_those_of_scikit_learn(seed, n, n_groups):
    rng = np.random.default_rng(seed)
    values = rng.normal(rng.choice([0.0, 5.0, -9.0][:n_groups], n), rng.choice([0.1, 1.0], n))
    if estimate_bandwidth(values[:, None]) > 0:  # which it cannot do without
        expected = MeanShift().fit(values[:, None]).labels_
        assert mean_shift(values).tolist() == expected.tolist()


def test_equal_values_are_a_cluster():
    assert mean_shift(np.array([0.1, 0.3, 0.1, 0.1, 0.1, 0.7])).tolist()[:1] == [0]
    labels = mean_shift(np.array([0.1] * 9 + [0.7] * 5))
    assert labels.tolist() == [0] * 9 + [1] * 5


def test_values_beyond_the_largest_cluster_are_clipped():
    # 0 … 8 make one cluster, 100 is another: it comes down to 8. The mean is then 4.4.
    raw = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 100])
    scaled, outliers, _ = clustered_bias(raw, 2.0)
    assert outliers.tolist() == [9]
    expected = (np.minimum(raw, 8) - 4.4) * 2.0 / 4.4
    np.testing.assert_allclose(scaled, expected)


def directly(raw, scale):
    """Clip to the largest cluster of scikit-learn, centre, scale."""
    labels = MeanShift().fit(raw[:, None]).labels_
    largest = raw[labels == np.bincount(labels).argmax()]
    clipped = np.clip(raw, largest.min(), largest.max())
    centred = clipped - clipped.mean()
    return centred / np.abs(centred).max() * scale


def test_features_on_the_edge_get_the_smallest_locality():
    rng = np.random.default_rng(3)
    locality, edge = rng.gamma(2.0, size=40), -rng.gamma(2.0, size=40)
    A = rng.uniform(size=(6, 40))
    instance = prepare(A, PublishedBias(locality, edge), n_select=5, n_per_class=2, bias_scale=0.5)
    near, scaled = directly(edge, 0.5) < 0, directly(locality, 0.5)
    assert 5 < near.sum() < 35
    expected = directly(np.where(near, scaled.min(), scaled), 0.5)
    np.testing.assert_allclose(instance.b, expected, atol=1e-12)


def test_wrong_lengths():
    with pytest.raises(InvalidInstance, match="edge"):
        prepare(np.eye(3), PublishedBias([1.0, 2, 3], [1.0]), n_select=3, n_per_class=1)
