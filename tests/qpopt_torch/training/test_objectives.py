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
    finer_maps,
    train_dense,
)
from qpopt_torch.training.loop import Training
from qpopt_torch.training.losses.diversity import feature_diversity_loss
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


def test_what_leaks_is_not_rewarded_for_falling():
    """With the leak, features far below their mean add to the logits, not to the grounding."""
    model, (x, y) = sparse(), batches()[0]
    head, grounding = model.sparse_head, GroundingParams(weight=1.0)
    head.relu, head.leak = True, 1.0
    head.dropout.p = 0.0
    losses = []
    for shift in (0.0, 50.0):
        head.mean += shift
        objective = TrainingObjective(model, model.head, 0.0, grounding=grounding).train()
        total, logits = objective(x, y)
        losses.append(float((total - nn.functional.cross_entropy(logits, y)).detach()))
    values = head.normalise(model.features(x).features)
    assert (values < -1).all()  # all is below, and leaks
    assert losses[1] == pytest.approx(0.0, abs=1e-6)
    assert losses[0] != pytest.approx(0.0, abs=1e-3)


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


def strided():
    """A network that halves its maps before a filter of 3 × 3."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 6, 3, 2, 1), nn.ReLU(), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def test_one_grid_is_trained_at_a_time():
    """The loss of a step is that of the maps at every second position."""
    data = batches((3, 8, 8))
    model = finer_maps(sparse(strided(), data), data[0][0])
    model.sparse_head.dropout.p = 0.0
    x, y = data[0]
    objective = TrainingObjective(model, model.head, 1.0, norms="frozen", grids="one").train()
    seen = model.features(x)
    expected = []
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        maps = seen.maps[..., a::2, b::2]
        logits = model.sparse_head.classify(maps.mean((2, 3)))
        loss = nn.functional.cross_entropy(logits, y)
        diversity = feature_diversity_loss(
            logits, maps.mean((2, 3)), maps, model.sparse_head.assignment
        )
        expected.append(round(float((loss + diversity).detach()), 4))
    found = set()
    for seed in range(16):
        torch.manual_seed(seed)
        found.add(round(float(objective(x, y)[0].detach()), 4))
    assert found == set(expected)
    assert len(found) == 4


@pytest.mark.parametrize("settings", [FineTuning(grids="one", epochs=1, lr=0.01)])
def test_what_has_no_grids_cannot_be_trained_by_them(settings):
    data = batches((3, 8, 8))
    with pytest.raises(TrainingError, match="grids='one' needs maps that finer_maps made finer"):
        fine_tune(sparse(strided(), data), data, settings, progress=False)
    model = finer_maps(sparse(strided(), data), data[0][0])
    assert fine_tune(model, data, settings, progress=False).stopped is None
    behind = PartialTraining(from_layer="2", grids="one", epochs=1, views=1)
    with pytest.raises(TrainingError, match="from a layer in front"):
        fine_tune(model, data, behind, progress=False)
    dense = finer_maps(strided(), data[0][0])
    training = PartialTraining(from_layer="0", grids="one", epochs=1, views=1)
    assert train_dense(dense, data, training, progress=False).stopped is None


def test_labels_are_smoothed_in_training_only():
    model, (x, y) = sparse(), batches()[0]
    model.sparse_head.dropout.p = 0.0
    objective = TrainingObjective(model, model.head, 0.0, norms="frozen", smoothing=0.2).train()
    chances = model(x).detach().log_softmax(1)
    own = chances.gather(1, y[:, None]).mean()
    expected = -(0.8 * own + 0.2 * chances.mean())
    assert float(objective(x, y)[0].detach()) == pytest.approx(float(expected), rel=1e-5)
    assert float(objective.eval()(x, y)[0].detach()) == pytest.approx(-float(own), rel=1e-5)


def test_what_is_off_learns_less_and_less():
    model, data = sparse(), batches()
    model.sparse_head.relu = True
    settings = FineTuning(epochs=4, lr=0.01, leaking=0.5)
    shares = []
    head = model.sparse_head
    looking = head.register_forward_hook(lambda *_: shares.append(head.leak))
    fine_tune(model, data, settings, progress=False)
    looking.remove()
    # Half of the epochs, of three batches each; further calls are those of looking at the model.
    assert [round(s, 3) for s in shares[-12:]] == pytest.approx(
        [max(0.0, 1 - step / 6) for step in range(12)], abs=2e-3
    )
    values = torch.tensor([[-1.0] * 5]) * head.std + head.mean
    head.leak = 0.25
    assert torch.allclose(head.train().normalise(values), torch.tensor(-0.25))
    assert torch.equal(head.eval().normalise(values), torch.zeros(1, 5))
