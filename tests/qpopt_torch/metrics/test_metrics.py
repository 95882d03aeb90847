"""Every metric against values worked out by hand and against a direct transcription."""

from statistics import NormalDist

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt_torch.metrics import (
    Accuracy,
    ClassIndependence,
    Contrastiveness,
    Correlation,
    Diversity,
    FeatureAlignment,
    PlainDiversity,
    structural_grounding,
)
from qpopt_torch.metrics.contrastiveness import overlap, two_modes


def batch(seed, n_samples=23, n_features=7, n_classes=4, n_attributes=5):
    rng = np.random.default_rng(seed)
    maps = (
        rng.gamma(0.5, size=(n_samples, n_features, 3, 4))
        * (rng.random(n_features) + 0.1)[:, None, None]
    )
    return {
        "maps": maps,
        "features": maps.mean(axis=(2, 3)),
        "labels": rng.integers(n_classes, size=n_samples),
        "logits": rng.standard_normal((n_samples, n_classes)),
        "weights": rng.standard_normal((n_classes, n_features)),
        "attributes": rng.random((n_samples, n_attributes)) < 0.4,
    }


def make(name, data):
    """Return a fresh accumulator and the names of the arrays that its update takes."""
    n_features = data["features"].shape[1]
    return {
        "accuracy": (Accuracy(), ("logits", "labels")),
        "sid": (Diversity(torch.tensor(data["weights"])), ("maps", "logits")),
        "diversity": (
            PlainDiversity(torch.tensor(data["weights"])),
            ("maps", "logits"),
        ),
        "independence": (ClassIndependence(4, n_features), ("features", "labels")),
        "contrastiveness": (Contrastiveness(), ("features",)),
        "correlation": (Correlation(n_features), ("features",)),
        "alignment": (FeatureAlignment(n_features, 5), ("features", "attributes")),
    }[name]


def feed(metric, names, data, batches):
    for rows in batches:
        metric.update(*(torch.tensor(data[name][rows]) for name in names))
    return metric


# Direct transcriptions of the formulas, with plain loops.


def direct_accuracy(data):
    hits = [
        row.argmax() == label for row, label in zip(data["logits"], data["labels"], strict=True)
    ]
    return np.mean(hits)


def direct_diversity(data, scale_invariant):
    values = []
    for maps, logits in zip(data["maps"], data["logits"], strict=True):
        top = np.argsort(-data["weights"][logits.argmax()])[:5]
        spreads = []
        for d in top:
            m = maps[d] / np.abs(maps[d]).mean() if scale_invariant else maps[d]
            spreads.append(np.exp(m) / np.exp(m).sum())
        values.append(np.max(spreads, axis=0).sum() / 5)
    return 100 * np.mean(values)


def direct_independence(data):
    shares = []
    for column in data["features"].T:
        above = column - column.min()
        shares.append(max(above[data["labels"] == c].sum() / above.sum() for c in range(4)))
    return 100 * (1 - np.mean(shares))


def direct_correlation(data):
    columns = data["features"].T
    best = []
    for d, column in enumerate(columns):
        others = [
            column @ other / np.linalg.norm(column) / np.linalg.norm(other)
            for e, other in enumerate(columns)
            if e != d
        ]
        best.append(max(others))
    return 100 * np.mean(best)


def direct_alignment(data):
    values = []
    for column in data["features"].T:
        rises = [
            column[present].mean() - column[~present].mean()
            for present in data["attributes"].T
            if present.any() and not present.all()
        ]
        values.append(max(rises) / (column - column.min()).mean())
    return 100 * np.mean(values)


DIRECT = {
    "accuracy": direct_accuracy,
    "sid": lambda data: direct_diversity(data, scale_invariant=True),
    "diversity": lambda data: direct_diversity(data, scale_invariant=False),
    "independence": direct_independence,
    "correlation": direct_correlation,
    "alignment": direct_alignment,
}


@pytest.mark.parametrize("name", DIRECT)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_equals_the_direct_formula(name, seed):
    data = batch(seed)
    metric = feed(*make(name, data), data, [slice(None)])
    assert metric.compute() == pytest.approx(DIRECT[name](data), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [*DIRECT, "contrastiveness"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 23))
def test_order_batches_and_merging_do_not_matter(name, seed, size):
    data = batch(seed)
    whole = feed(*make(name, data), data, [slice(None)]).compute()
    shuffled = np.random.default_rng(seed).permutation(23)
    pieces = [shuffled[i : i + size] for i in range(0, 23, size)]
    assert feed(*make(name, data), data, pieces).compute() == pytest.approx(whole, rel=1e-9)
    half = feed(*make(name, data), data, pieces[::2])
    half.merge(feed(*make(name, data), data, pieces[1::2]))
    assert half.compute() == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["accuracy", "sid", "independence", "contrastiveness", "alignment"]
)
def test_without_samples_there_is_no_value(name):
    metric, _ = make(name, batch(0))
    assert np.isnan(metric.compute())


def test_sid_by_hand():
    # Two features, two positions, both counted. Mean |M| is 1 for each map, so the softmax of
    # (2, 0) is (e²/(e²+1), 1/(e²+1)), and the maxima at the two positions add up to 2e²/(e²+1).
    maps = torch.tensor([[[2.0, 0.0], [0.0, 2.0]]])
    metric = Diversity(torch.ones(1, 2), k=2)
    metric.update(maps, torch.zeros(1, 1))
    share = np.exp(2) / (np.exp(2) + 1)
    assert metric.compute() == pytest.approx(100 * 2 * share / 2)
    same = Diversity(torch.ones(1, 2), k=2)
    same.update(torch.tensor([[[2.0, 0.0], [2.0, 0.0]]]), torch.zeros(1, 1))
    assert same.compute() == pytest.approx(50.0)


def test_sid_does_not_change_with_the_scale_of_a_map():
    data = batch(3)
    scaled = {**data, "maps": data["maps"] * np.linspace(0.1, 50, 7)[:, None, None]}
    for name, same in (("sid", True), ("diversity", False)):
        one, other = (
            feed(*make(name, some), some, [slice(None)]).compute() for some in (data, scaled)
        )
        assert (one == pytest.approx(other)) is same


def test_sid_of_a_class_with_few_features_counts_only_those():
    weights = torch.tensor([[1.0, 0.0, 1.0]])
    maps = torch.tensor([[[9.0, 0.0], [5.0, 5.0], [0.0, 9.0]]])
    five, two = Diversity(weights), Diversity(weights[:, [0, 2]], k=2)
    five.update(maps, torch.zeros(1, 1))
    two.update(maps[:, [0, 2]], torch.zeros(1, 1))
    assert five.compute() == pytest.approx(two.compute())


def test_sid_of_an_empty_map_is_uniform():
    metric = Diversity(torch.ones(1, 1), k=1)
    metric.update(torch.zeros(1, 1, 4), torch.zeros(1, 1))
    assert metric.compute() == pytest.approx(100.0)


def test_independence_by_hand():
    # Above the minimum 1: class 0 has 0 + 3, class 1 has 1, so class 0 holds 3/4 of it.
    metric = ClassIndependence(2, 1)
    metric.update(torch.tensor([[1.0], [4.0], [2.0]]), torch.tensor([0, 0, 1]))
    assert metric.compute() == pytest.approx(25.0)


def test_independence_of_a_constant_feature():
    metric = ClassIndependence(2, 1)
    metric.update(torch.full((3, 1), 0.1), torch.tensor([0, 0, 1]))
    assert metric.compute() == pytest.approx(100 / 3)


def test_correlation_by_hand():
    metric = Correlation(3)
    metric.update(torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]))
    # cos(0, 1) = 1/√2; feature 2 is always 0 and has cosine 0 with both.
    assert metric.compute() == pytest.approx(100 * (2 * 2**-0.5 + 0) / 3)


def test_grounding_by_hand():
    weights = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    attributes = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    # Truth: cos(0,1) = cos(1,2) = 1/√2, cos(0,2) = 0; model: 1/2, 1/2 and 0.
    assert structural_grounding(weights, attributes, 2) == pytest.approx(100 / 2**0.5)
    assert structural_grounding(weights, weights, 1) == pytest.approx(100.0)


def test_contrastiveness_of_known_mixtures():
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(0, 1, 4000), rng.normal(20, 2, 1000)])
    assert overlap(far) < 1e-4
    near = np.concatenate([rng.normal(0, 1, 20000), rng.normal(3, 1, 20000)])
    expected = NormalDist(0, 1).overlap(NormalDist(3, 1))
    assert overlap(near) == pytest.approx(expected, abs=0.02)
    low, high, weight = two_modes(far)
    assert (low.mean, high.mean, weight) == pytest.approx((0, 20, 0.8), abs=0.1)
    assert (low.stdev, high.stdev) == pytest.approx((1, 2), rel=0.1)


def test_contrastiveness_does_not_change_with_scale_and_shift():
    values = np.random.default_rng(1).gamma(0.3, size=500)
    assert overlap(values) == pytest.approx(overlap(values * 1e6 + 3e6), abs=1e-6)


def test_contrastiveness_of_constant_and_two_valued_features():
    metric = Contrastiveness()
    metric.update(torch.tensor([[1.0, 0.0], [1.0, 5.0], [1.0, 5.0]]))
    assert metric.compute() == pytest.approx(50.0, abs=1e-6)
