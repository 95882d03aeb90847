from dataclasses import replace

import pytest
import torch
from torch import nn

from qpopt_torch import (
    FineTuning,
    GroundingParams,
    PartialTraining,
    TrainingError,
    fine_tune,
    train_dense,
)
from qpopt_torch.training.loop import Training
from qpopt_torch.training.objectives import TrainingObjective, blank_norms
from tests.qpopt_torch.small import batches, cnn, sparse


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


def test_grounding_enters_the_loss_as_features_enter_the_logits():
    model, (x, y) = sparse(), batches()[0]
    head = model.sparse_head
    for relu in (False, True):
        head.relu = relu
        losses = []
        for weight in (0.0, 3.0):
            grounding = GroundingParams(weight=weight, others=1.5)
            objective = TrainingObjective(model, model.head, 0.0, grounding=grounding).eval()
            losses.append(float(objective(x, y)[0].detach()))
        values = head.normalise(model.features(x).features).detach()
        own = head.assignment[y].bool()
        means = [
            torch.stack([v[o].mean() for v, o in zip(values, which, strict=True)])
            for which in (own, ~own)
        ]
        largest = values.abs().amax(1).clamp_min(0.01)
        expected = ((1.5 * means[1] - means[0]) / largest).mean()
        assert losses[1] - losses[0] == pytest.approx(3 * float(expected), rel=1e-4)


def test_dropped_features_count_as_they_enter_the_logits():
    """A feature that dropout sets to 0 is not 0 in standard units; logits and loss agree."""
    model, (x, y) = sparse(), batches()[0]
    model.sparse_head.dropout.p = 0.5
    objective = TrainingObjective(model, model.head, 0.0, grounding=GroundingParams()).train()
    torch.manual_seed(0)
    total, logits = objective(x, y)
    # Of two features a class the logits are the sums: twice the mean of the own ones.
    head, seen = model.sparse_head, model.features(x)
    torch.manual_seed(0)
    features = head.normalise(head.dropout(seen.features))
    torch.testing.assert_close(features @ head.assignment.T, logits)
    own = head.assignment[y]
    inside, outside = (features * own).sum(1) / 2, (features * (1 - own)).sum(1) / 3
    grounding = ((2 * outside - inside) / features.abs().amax(1)).mean()
    torch.testing.assert_close(total, nn.functional.cross_entropy(logits, y) + 3 * grounding)


def test_stages_begin_anew_and_grounding_ends(monkeypatch):
    weights, momenta = [], []
    step = Training.step

    def watched(self, x, y):
        weights.append(self.objective.grounding_weight)
        momenta.append(len(self.optimizer.state))
        return step(self, x, y)

    monkeypatch.setattr(Training, "step", watched)
    settings = FineTuning(
        epochs=5, stages=(2, 3), lr=1e-3, grounding=GroundingParams(weight=2.0, epochs=2)
    )
    history = fine_tune(sparse(), batches(sizes=(6,)), settings, progress=False)
    assert weights == [2.0, 2.0, 2.0, 2.0, 0.0]
    assert [count > 0 for count in momenta] == [False, True, False, True, True]
    assert [r["lr"] for r in history.epochs] == pytest.approx([1e-3] * 2 + [9e-4] * 3)


def test_a_dense_model_has_nothing_to_ground():
    settings = PartialTraining(grounding=GroundingParams())
    with pytest.raises(TrainingError, match="no assignment"):
        train_dense(cnn(), batches(), settings)


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
