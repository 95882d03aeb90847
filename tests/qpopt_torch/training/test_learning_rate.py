import pytest

from qpopt_torch import FineTuning, TrainingError, fine_tune
from qpopt_torch.training.learning_rate import best_rate, trial
from qpopt_torch.training.objectives import TrainingObjective
from qpopt_torch.training.params import TrialParams
from tests.qpopt_torch.small import loader, same, sparse, weights


def test_the_published_rate_is_among_those_tried():
    # Powers of 4 around 1.28e-2, and what the released code starts with.
    around = [1.28e-2 * 4**k for k in (1, 0, -1, -2)]
    assert TrialParams().rates == pytest.approx([*around, 1e-4])


def test_trials_leave_the_model_alone_and_prefer_a_sane_rate():
    model, data = sparse(), loader()
    before = weights(model)
    settings = FineTuning(trials=TrialParams(rates=(1e3, 0.002, 1e-7)))
    objective = TrainingObjective(model, model.head, "auto")
    assert best_rate(objective, data, settings) == 0.002
    assert same(before, weights(model))


def test_longer_trials_get_further():
    model = sparse()
    objective = TrainingObjective(model, model.head, "auto")
    short, long = (
        trial(objective, loader(), FineTuning(trials=TrialParams(steps=steps)), 0.002)
        for steps in (2, 60)
    )
    assert long < short


def test_training_takes_the_best_rate():
    settings = FineTuning(epochs=1, trials=TrialParams(rates=(1e3, 0.002, 1e-7)))
    history = fine_tune(sparse(), loader(), settings, progress=False)
    assert history.epochs[0]["lr"] == 0.002


def test_no_finite_rate_at_all():
    settings = FineTuning(epochs=1, trials=TrialParams(rates=(1e30, 1e35)))
    with pytest.raises(TrainingError, match="not finite at any learning rate"):
        fine_tune(sparse(), loader(), settings, progress=False)
