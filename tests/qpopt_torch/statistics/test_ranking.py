"""The exact AUROC is the share of pairs that a feature puts in the right order."""

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import InvalidArgument, InvalidInstance
from qpopt_torch import ModelError, collect, exact_auroc
from tests.qpopt_torch.small import batches, cnn


def pairs(values, members):
    """The share of pairs, one of them a member, in which the member is larger; ties count half."""
    inside, outside = values[members][:, None], values[~members]
    return float(((inside > outside) + 0.5 * (inside == outside)).mean())


@pytest.mark.parametrize("memory", [1, 500, 1e9])
def test_it_counts_the_pairs(tmp_path, memory):
    torch.manual_seed(0)
    x, y = torch.randint(-4, 5, (60, 5)).float(), torch.arange(60) % 4
    model = nn.Sequential(nn.ReLU(), nn.Linear(5, 4))
    loader = list(zip(x.split(7), y.split(7), strict=True))
    A = exact_auroc(model, loader, tmp_path, memory=memory, progress=False)
    features = x.relu().numpy()
    for c in range(4):
        for d in range(5):
            assert A[c, d] == pytest.approx(pairs(features[:, d], y.numpy() == c), abs=1e-12)
    assert not list(tmp_path.iterdir())


def test_histograms_come_near_it_and_it_makes_an_instance(tmp_path):
    data = batches(sizes=(40, 40, 40))
    statistics = collect(cnn(), data, bins=4096, progress=False)
    A = exact_auroc(cnn(), data, tmp_path, progress=False)
    assert np.abs(statistics.similarity("auroc") - A).max() < 2e-3
    exact = statistics.instance(4, 2, similarity=A, neutral=0.5)
    binned = statistics.instance(4, 2, similarity="auroc")
    np.testing.assert_allclose(exact.A, binned.A, atol=0.5)  # of 125
    assert exact.provenance["similarity"] == "custom"
    with pytest.raises(InvalidInstance, match=r"shape \(4, 7\); the statistics are of 4 classes"):
        statistics.instance(4, 2, similarity=A[:, :7])


def test_what_goes_wrong_is_said(tmp_path):
    for memory in (0, -1, True, "1"):
        with pytest.raises(InvalidArgument, match="memory must be"):
            exact_auroc(cnn(), batches(), tmp_path, memory=memory)
    some = [(x, y.clamp(max=2)) for x, y in batches()]
    with pytest.raises(InvalidInstance, match="Class 3 has no samples"):
        exact_auroc(cnn(), some, tmp_path, progress=False)
    broken = batches()
    broken[1][0][0] = torch.nan
    with pytest.raises(ModelError, match="batch 1 are not finite"):
        exact_auroc(cnn(), broken, tmp_path, progress=False)
    assert not list(tmp_path.iterdir())
