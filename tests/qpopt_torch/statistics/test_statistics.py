import logging

import numpy as np
import pytest
import torch

from qpopt import InvalidFile, InvalidInstance
from qpopt_torch import LoaderError, Statistics, collect
from tests.qpopt_torch import direct
from tests.qpopt_torch.small import batches, cnn, mlp


def random_data(n=60, n_features=5, n_classes=3, seed=0, size=(4, 3)):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    maps = rng.normal(size=(n, n_features, *size)) + 1.5
    maps += (labels[:, None] * rng.random(n_features)).reshape(n, n_features, *[1] * len(size))
    return maps.reshape(n, n_features, -1).mean(2), labels, maps


@pytest.mark.parametrize("size", [(4, 3), (6,), (3, 4, 3)])
def test_equal_to_the_direct_formulas(size):
    features, labels, maps = random_data(size=size)
    statistics = Statistics.from_features(features, labels, maps=maps)
    expected = direct.pearson(features, labels, 3)
    np.testing.assert_allclose(statistics.similarity(), expected, atol=1e-10)
    np.testing.assert_allclose(statistics.bias(), direct.locality(features, maps), rtol=1e-10)
    center = direct.center(features, maps)
    np.testing.assert_allclose(statistics.bias("center"), center, rtol=1e-10)
    published = statistics.bias("published")
    locality, edge = direct.published(features, maps)
    np.testing.assert_allclose(published.locality, locality, rtol=1e-10)
    np.testing.assert_allclose(published.edge, edge, rtol=1e-10)
    np.testing.assert_allclose(statistics.mean, features.mean(0), rtol=1e-12)
    np.testing.assert_allclose(statistics.std, features.std(0), rtol=1e-10)
    np.testing.assert_array_equal(statistics.minima, features.min(0))
    for c in range(3):
        own = features[labels == c].sum(0)
        np.testing.assert_allclose(statistics.class_sums[c], own, rtol=1e-12)


def test_a_large_offset_costs_no_digits():
    features, labels, _ = random_data()
    plain = Statistics.from_features(features, labels).similarity()
    moved = Statistics.from_features(features + 1e6, labels).similarity()
    np.testing.assert_allclose(moved, plain, atol=1e-9)


def test_merge_is_the_same_as_one_pass():
    features, labels, maps = random_data()
    whole = Statistics.from_features(features, labels, maps=maps)
    parts = [
        Statistics.from_features(features[rows], labels[rows], maps=maps[rows], n_classes=3)
        for rows in (slice(0, 7), slice(7, 50), slice(50, 60))
    ]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.counts.tolist() == whole.counts.tolist()
    np.testing.assert_allclose(merged.similarity(), whole.similarity(), atol=1e-12)
    for kind in ("locality", "center"):
        np.testing.assert_allclose(merged.bias(kind), whole.bias(kind), rtol=1e-12)
    for part in ("locality", "edge"):
        values = [getattr(s.bias("published"), part) for s in (merged, whole)]
        np.testing.assert_allclose(*values, rtol=1e-12)
    np.testing.assert_allclose(merged.std, whole.std, rtol=1e-12)


def test_what_cannot_be_merged():
    features, labels, maps = random_data()
    plain = Statistics.from_features(features, labels)
    with pytest.raises(InvalidInstance, match="cannot be merged"):
        plain.merge(Statistics.from_features(features[:, :3], labels))
    with pytest.raises(InvalidInstance, match="Only one of the two statistics has locality"):
        plain.merge(Statistics.from_features(features, labels, maps=maps))
    binned = Statistics.from_features(features, labels, bins=8)
    with pytest.raises(InvalidInstance, match="different bins"):
        binned.merge(Statistics.from_features(features + 1, labels, bins=8))


def test_auroc_is_close_to_that_of_the_samples():
    features, labels, _ = random_data(n=400)
    statistics = Statistics.from_features(features, labels, bins=256)
    A = statistics.similarity("auroc")
    for c in range(3):
        for d in range(features.shape[1]):
            own, others = features[labels == c, d], features[labels != c, d]
            exact = (own[:, None] > others).mean()
            assert A[c, d] == pytest.approx(exact, abs=5e-3)
    with pytest.raises(InvalidInstance, match="bins=64"):
        Statistics.from_features(features, labels).similarity("auroc")
    with pytest.raises(InvalidInstance, match="pearson or auroc"):
        statistics.similarity("cosine")


def test_bias_of_every_kind(caplog):
    features, labels, _ = random_data()
    statistics = Statistics.from_features(features, labels)
    assert statistics.bias("none") is None
    assert statistics.bias(range(5)).tolist() == [0, 1, 2, 3, 4]
    assert statistics.bias(lambda s: s.minima).tolist() == statistics.minima.tolist()
    with caplog.at_level(logging.WARNING, logger="qpopt"):
        assert statistics.bias() is None
    assert caplog.text.count("have no maps, so locality is undefined") == 1
    with pytest.raises(InvalidInstance, match="bias must be"):
        statistics.bias("size")


def test_instance_and_its_provenance():
    features, labels, maps = random_data()
    statistics = Statistics.from_features(features, labels, maps=maps, class_names=["a", "b", "c"])
    instance = statistics.instance(3, 2, bias="center", include=[1])
    assert (instance.n_select, instance.n_per_class, instance.include) == (3, 2, (1,))
    assert instance.class_names == ("a", "b", "c")
    assert instance.provenance["bias"] == "center"
    assert instance.provenance["n_samples"] == 60
    scaled = statistics.similarity() / np.abs(statistics.similarity()).max() * 1000 / 6
    np.testing.assert_allclose(instance.A, scaled, rtol=1e-12)


def test_a_class_without_samples_is_named():
    features, labels, _ = random_data()
    statistics = Statistics.from_features(features, labels, n_classes=5)
    with pytest.raises(InvalidInstance, match=r"Class 3 \(and 1 others\) has no samples"):
        statistics.instance(3, 2)


def test_save_and_load(tmp_path):
    statistics = collect(cnn(), batches(), bins=8, class_names=list("abcd"), progress=False)
    statistics.save(tmp_path / "s.npz")
    again = Statistics.load(tmp_path / "s.npz")
    assert again.head == statistics.head
    assert again.class_names == ("a", "b", "c", "d")
    assert again.n_positions == 49
    for key in ("counts", "sums", "squares", "minima", "locality", "center", "histograms", "scale"):
        np.testing.assert_array_equal(getattr(again, key), getattr(statistics, key))
    assert again.instance(4, 2) == statistics.instance(4, 2)


def test_without_maps_too(tmp_path):
    statistics = collect(mlp(), batches((5,), 3), progress=False)
    statistics.save(tmp_path / "s.npz")
    assert Statistics.load(tmp_path / "s.npz").locality is None


def test_files_that_are_no_statistics(tmp_path):
    with pytest.raises(InvalidFile, match="does not exist"):
        Statistics.load(tmp_path / "nothing.npz")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InvalidFile, match="not a qpopt statistics"):
        Statistics.load(tmp_path / "text")
    statistics = collect(cnn(), batches(), progress=False)
    statistics.instance(4, 2).save(tmp_path / "instance.npz")
    with pytest.raises(InvalidFile, match="not a qpopt statistics"):
        Statistics.load(tmp_path / "instance.npz")
    statistics.save(tmp_path / "s.npz")
    (tmp_path / "cut").write_bytes((tmp_path / "s.npz").read_bytes()[:-200])
    with pytest.raises(InvalidFile, match="truncated, damaged"):
        Statistics.load(tmp_path / "cut")


def test_features_that_are_no_features():
    with pytest.raises(LoaderError, match="samples × features"):
        Statistics.from_features(np.zeros(3), np.zeros(3, dtype=int))
    with pytest.raises(LoaderError, match="features of sample 1 are not finite"):
        Statistics.from_features([[0.0], [np.nan]], [0, 1])


def test_the_model_and_its_copy_give_the_same_statistics():
    model, data = cnn(), batches()
    a = collect(model, data, progress=False)
    b = collect(torch.nn.DataParallel(model), data, progress=False)
    np.testing.assert_array_equal(a.sums, b.sums)
