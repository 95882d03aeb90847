import pytest

from qpopt_torch import FineTuning, TrainingError, fine_tune
from qpopt_torch.training import learning_rate as module
from qpopt_torch.training.objectives import TrainingObjective
from tests.qpopt_torch.small import loader, same, sparse, weights


def test_automatic_learning_rate(monkeypatch):
    losses = {0.1: 3.0, 0.01: 1.0, 0.001: 2.0}
    monkeypatch.setattr(module, "RATES", tuple(losses))
    monkeypatch.setattr(module, "trial", lambda objective, data, settings, rate: losses[rate])
    history = fine_tune(sparse(), loader(), FineTuning(epochs=1), progress=False)
    assert history.epochs[0]["lr"] == 0.01


def testtrials_leave_the_model_alone_and_prefer_a_sane_rate(monkeypatch):
    model, data = sparse(), loader()
    before = weights(model)
    objective = TrainingObjective(model, model.head, "auto")
    losses = {
        rate: module.trial(objective, data, FineTuning(), rate) for rate in (1e3, 0.002, 1e-7)
    }
    assert min(losses, key=losses.get) == 0.002
    assert same(before, weights(model))


def test_no_finite_rate_at_all(monkeypatch):
    monkeypatch.setattr(module, "trial", lambda *_: float("inf"))
    with pytest.raises(TrainingError, match="not finite at any learning rate"):
        fine_tune(sparse(), loader(), FineTuning(epochs=1), progress=False)
