import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import InvalidInstance
from qpopt.preprocessing import auroc_from_histograms, pearson_from_sums


def sums_of(features, labels, n_classes, shift=0.0):
    shifted = features - shift
    counts = np.bincount(labels, minlength=n_classes)
    sums = np.array([shifted[labels == c].sum(axis=0) for c in range(n_classes)])
    return counts, sums, (shifted**2).sum(axis=0)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 5), shift=st.floats(-3, 3))
def test_pearson_is_the_correlation_with_the_labels(seed, n_classes, shift):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=30)])
    features = rng.normal(2.0, 1.0, (len(labels), 4)) + labels[:, None] * rng.normal(size=4)
    A = pearson_from_sums(*sums_of(features, labels, n_classes, shift))
    for c in range(n_classes):
        for d in range(4):
            direct = np.corrcoef(features[:, d], labels == c)[0, 1]
            assert A[c, d] == pytest.approx(direct, abs=1e-10)


def test_constant_features_get_zero_and_are_counted(caplog):
    features = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    with caplog.at_level(logging.WARNING, logger="qpopt"):
        A = pearson_from_sums(*sums_of(features, np.array([0, 1, 1]), 2))
    assert (A[:, 1] == 0).all()
    assert (A[:, 0] != 0).all()
    assert "1 features are constant" in caplog.text


def test_one_class_with_all_samples_gets_zero():
    features = np.array([[1.0], [2.0]])
    assert pearson_from_sums(*sums_of(features, np.array([0, 0]), 1)).tolist() == [[0.0]]


def test_a_class_without_samples_is_named():
    counts, sums, squares = sums_of(np.eye(3), np.array([0, 2, 2]), 3)
    with pytest.raises(InvalidInstance, match=r"Class 1 \(wren\) has no samples"):
        pearson_from_sums(counts, sums, squares, class_names=["auk", "wren", "owl"])


def test_counts_of_the_wrong_length():
    with pytest.raises(InvalidInstance, match="each of the 2 classes"):
        pearson_from_sums([1, 2, 3], np.ones((2, 2)), np.ones(2))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_auroc_counts_the_pairs(seed):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(3), rng.integers(3, size=15)])
    bins = rng.integers(6, size=(len(labels), 2))
    histograms = np.zeros((3, 2, 6), dtype=np.int32)
    for label, row in zip(labels, bins, strict=True):
        for d in range(2):
            histograms[label, d, row[d]] += 1
    A = auroc_from_histograms(histograms)
    for c in range(3):
        for d in range(2):
            own, others = bins[labels == c, d], bins[labels != c, d]
            wins = [float(a > b) + 0.5 * float(a == b) for a in own for b in others]
            assert A[c, d] == pytest.approx(np.mean(wins), abs=1e-12)


def test_auroc_names_a_class_without_samples():
    histograms = np.ones((2, 3, 4))
    histograms[1] = 0
    with pytest.raises(InvalidInstance, match="Class 1 has no samples"):
        auroc_from_histograms(histograms)
    with pytest.raises(InvalidInstance, match="class, feature and bin"):
        auroc_from_histograms(np.ones((2, 3)))
