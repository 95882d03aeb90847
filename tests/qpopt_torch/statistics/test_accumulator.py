import logging

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import InvalidArgument
from qpopt_torch.statistics import accumulator
from qpopt_torch.statistics.accumulator import (
    Accumulator,
    FeatureScale,
    check_memory,
    edge_distance,
    say_memory,
)


def test_edge_distance():
    assert edge_distance((3, 4)).reshape(3, 4).tolist() == [[0] * 4, [0, 1, 1, 0], [0] * 4]
    assert edge_distance((5,)).tolist() == [0, 1, 2, 1, 0]
    assert edge_distance((3, 3, 3)).sum() == 1


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    parts=st.lists(st.integers(0, 7), min_size=1),
    offset=st.floats(0, 1e4),
)
def test_batches_add_up_to_the_whole(seed, parts, offset):
    generator = torch.Generator().manual_seed(seed)
    n = sum(parts) + 2
    features = torch.rand(n, 3, generator=generator) + offset
    labels = torch.randint(2, (n,), generator=generator)
    start = FeatureScale.of(features[:2])
    sums = Accumulator(2, start)
    for x, y in zip(features.split([2, *parts]), labels.split([2, *parts]), strict=True):
        sums.add(x, y)
    shifted = features.double().numpy() - start.shift.numpy()
    np.testing.assert_allclose(sums.squares, (shifted**2).sum(0), atol=1e-12)
    np.testing.assert_allclose(sums.sums.sum(0), shifted.sum(0), atol=1e-11)
    np.testing.assert_array_equal(sums.minima, features.amin(0))
    assert sums.counts.tolist() == np.bincount(labels, minlength=2).tolist()


def test_chunks_do_not_matter():
    generator = torch.Generator().manual_seed(0)
    maps = torch.randn(9, 4, 3, 3, generator=generator)
    features, labels = maps.mean((2, 3)), torch.zeros(9, dtype=torch.int64)
    results = []
    for chunk in (1, 100, 10**6):
        sums = Accumulator(1, FeatureScale.of(features), chunk=chunk)
        sums.add(features, labels, maps)
        results.append(torch.stack([sums.locality, sums.center]))
    assert results[0].numpy() == pytest.approx(results[1].numpy(), rel=1e-14)
    assert results[0].numpy() == pytest.approx(results[2].numpy(), rel=1e-14)


def test_histograms_count_every_sample():
    values = torch.tensor([[-1e30, 0.0], [0.5, 0.1], [1e30, 0.2], [0.5, 0.3]])
    sums = Accumulator(2, FeatureScale(torch.zeros(2).double(), torch.ones(2).double()), bins=8)
    sums.add(values, torch.tensor([0, 1, 1, 0]))
    assert sums.histograms.sum(2).tolist() == [[2, 2], [2, 2]]
    assert sums.histograms[0, 0, 0] == 1
    assert sums.histograms[1, 0, 7] == 1


def test_memory_that_nobody_has_is_refused_with_its_size():
    check_memory(64, 1000, 2048)
    with pytest.raises(InvalidArgument, match=r"take 11\.5 GB.*at most 44 bins"):
        check_memory(64, 21_841, 2048)
    # Where not even two bins fit, there is no number to advise.
    with pytest.raises(InvalidArgument, match=r"more than 8 GB; the similarity pearson"):
        check_memory(2, 1_000_000, 2_000)


def test_what_a_large_pass_takes_is_said(caplog, monkeypatch):
    sums = Accumulator(4, FeatureScale(torch.zeros(5), torch.ones(5)), 64)
    with caplog.at_level(logging.INFO, logger="qpopt"):
        say_memory(sums)
        assert not caplog.records
        monkeypatch.setattr(accumulator, "SAID", 1000)
        say_memory(sums)
    assert "The sums of this pass take 0.0 GB, on every process." in caplog.text
