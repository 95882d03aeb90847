"""Contrastiveness of more samples than are kept, against the fit to all of them."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from qpopt_torch.metrics import contrastiveness as module
from qpopt_torch.metrics.contrastiveness import Contrastiveness, overlap
from qpopt_torch.metrics.value_bins import BINS, ValueBins


def features(n, seed=0):
    """Columns of many shapes: modes near and far, rare ones, zeros, long tails, far from 0."""
    rng = np.random.default_rng(seed)
    on = rng.random((n, 9)) < [0.5, 0.5, 0.02, 0.3, 0.1, 0.5, 0.05, 0.5, 0.2]
    values = rng.standard_normal((n, 9)) * 0.5 + on * [2, 6, 4, 3, 3, 1, 5, 2, 3]
    values[:, 3] = np.maximum(values[:, 3], 0)  # off is exactly 0
    values[:, 4] = np.exp(values[:, 4])
    values[:, 5] = rng.standard_t(2, n)
    values[:, 6] = np.where(on[:, 6], rng.gamma(2, 1, n), 0)
    values[:, 7] += 1000
    values[:, 8] = rng.exponential(1, n) * 1e-4
    return torch.from_numpy(values).float()


@pytest.fixture(scope="module")
def data():
    return features(24_000)


@pytest.fixture(scope="module")
def exact(data):
    """In percent, of every feature, from all values."""
    return [100 * (1 - overlap(column)) for column in data.double().numpy().T]


@pytest.fixture
def few_are_kept(monkeypatch):
    monkeypatch.setattr(module, "EXACT", 4_000)
    monkeypatch.setattr(module, "TOGETHER", 3_000)


def test_every_feature_is_within_a_fifth_of_a_point(data, exact, few_are_kept):
    metric = Contrastiveness()
    for batch in data.split(1000):
        metric.update(batch)
    metric.compute()
    assert metric.batches == []
    for d, expected in enumerate(exact):
        found = 1 - module._shared(metric.bins.of(d), None)
        assert 100 * found == pytest.approx(expected, abs=0.2), d


def test_memory_does_not_grow_with_the_samples(data, few_are_kept):
    metric, sizes = Contrastiveness(), []
    for _ in range(3):
        for batch in data.split(1500):
            metric.update(batch)
            sizes.append(sum(map(len, metric.batches)))
    assert max(sizes) <= 4_000
    assert metric.bins.sums.shape == (3, 9, BINS + 2)
    assert metric.bins.sums[0].sum() + 9 * sizes[-1] == 9 * 3 * len(data)


def test_up_to_so_many_samples_all_are_kept(data):
    assert module.EXACT == 200_000
    metric = Contrastiveness()
    for _ in range(8):
        metric.update(data)
    assert metric.bins is None
    metric.update(data)
    assert metric.bins is not None
    assert metric.batches == []


def test_parts_are_merged(data, exact, few_are_kept):
    parts = [Contrastiveness() for _ in range(3)]
    for part, batch in zip(parts, data.split([12_000, 10_000, 2_000]), strict=True):
        for some in batch.split(1000):
            part.update(some)
    for order in ((0, 1, 2), (2, 0, 1)):
        whole = deepcopy(parts[order[0]])
        for place in order[1:]:
            whole.merge(parts[place])
        assert whole.compute() == pytest.approx(np.mean(exact), abs=0.2)
        assert whole.bins.sums[0].sum() == data.numel()


def test_a_feature_that_never_changes():
    bins = ValueBins(np.full((50, 1), 3.0))
    bins.add(np.full((50, 1), 3.0))
    counts, means, squares = bins.of(0)
    assert (counts.tolist(), means.tolist(), squares.tolist()) == ([100], [3], [9])
    assert module._shared(bins.of(0), None) == 1
