from dataclasses import replace

import pytest
import torch
from torch import nn

from qpopt_torch import FineTuning, fine_tune
from qpopt_torch.training.objectives import TrainingObjective, blank_norms
from tests.qpopt_torch.small import batches, sparse


def test_diversity_enters_the_loss():
    model, data = sparse(), batches()
    losses = []
    for beta in (0.0, 1.0):
        objective = TrainingObjective(model, model.head, beta).eval()
        losses.append(float(objective(*data[0])[0].detach()))
    seen = model.features(data[0][0])
    cross_entropy = nn.functional.cross_entropy(seen.logits, data[0][1])
    assert losses[0] == pytest.approx(float(cross_entropy.detach()), rel=1e-5)
    assert losses[1] < losses[0]


def test_frozen_norms_keep_their_statistics():
    model, (x, y) = sparse(), batches()[0]
    for norms, moves in (("trained", True), ("frozen", False)):
        objective = TrainingObjective(model, model.head, 0.0, norms=norms).train()
        before = model.network[1].running_mean.clone()
        objective(x, y)
        assert torch.equal(before, model.network[1].running_mean) != moves
        assert objective.model.sparse_head.dropout.training


def test_norms_that_were_folded_away_are_noticed(caplog):
    model, data = sparse(), batches()
    assert blank_norms(model) == 1
    settings = FineTuning(epochs=1, lr=1e-4, norms="frozen")
    fine_tune(model, data, settings, progress=False)
    assert "folded" not in caplog.text
    fine_tune(model, data, replace(settings, norms="trained"), progress=False)
    assert "1 batch norms have the mean 0 and the variance 1" in caplog.text
    assert blank_norms(model) == 0
