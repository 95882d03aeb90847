import pytest

from qpopt_torch import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    GroundingParams,
    PartialTraining,
    TrainingError,
)


def test_the_published_schedules():
    tuning, dense = FineTuning(), DenseTraining()
    assert (tuning.epochs, tuning.momentum, tuning.weight_decay) == (40, 0.95, 5e-4)
    assert [tuning.rate(e) for e in (0, 9, 10, 39)] == pytest.approx([1, 1, 0.4, 0.4**3])
    assert (dense.epochs, dense.lr, dense.head_lr, dense.dropout) == (150, 5e-3, 1e-2, 0.2)
    # 100 times the last dense rate is the published start of fine-tuning.
    assert 100 * dense.lr * dense.rate(149) == pytest.approx(1.28e-2)


def test_a_warm_up_ends_in_what_the_rate_would_be():
    tuning = FineTuning(epochs=10, warmup=2.0, decay_every=4)
    assert [tuning.rate(e) for e in (0, 1, 2, 4)] == pytest.approx([0.01, 0.505, 1, 0.4])
    partial = PartialTraining(epochs=10, warmup=5.0)
    # Half of the cosine is over, so is the warm-up; halfway, it is halved.
    assert partial.rate(5) == pytest.approx(0.5)
    assert partial.rate(2.5) == pytest.approx((0.01 + 0.99 / 2) * (0.5 + 0.5 * 0.5**0.5))


def test_the_published_stages():
    tuning = FineTuning.grounded(seed=3)
    assert (tuning.epochs, tuning.lr, tuning.seed) == (70, 1e-4, 3)
    epochs = (0, 9.9, 10, 20, 30, 39, 40, 50, 60, 69.9)
    expected = [1, 1, 0.9, 0.81, *[0.9**3 * 0.4**n for n in (0, 0, 1, 2, 3, 3)]]
    assert [tuning.rate(e) for e in epochs] == pytest.approx(expected)
    # The loss is off for the last ten of 70 epochs.
    assert [e for e in range(70) if tuning.grounding_weight(e) == 0] == list(range(60, 70))
    assert {tuning.grounding_weight(e) for e in range(60)} == {3.0}
    assert FineTuning().grounding_weight(0) == 0


@pytest.mark.parametrize("stages", [(2, 2), (0, 3), (1.5, 1.5), (3, -1, 1), 3, ()])
def test_stages_that_cannot_be(stages):
    with pytest.raises(TrainingError, match="stages must be lengths"):
        FineTuning(epochs=3, stages=stages)
    with pytest.raises(TrainingError, match="stages"):
        PartialTraining(epochs=3, stages=(1, 2))


@pytest.mark.parametrize("wrong", [{"weight": -1}, {"others": "two"}, {"epochs": 1.5}])
def test_grounding_that_cannot_be(wrong):
    with pytest.raises(TrainingError, match=next(iter(wrong))):
        GroundingParams(**wrong)
    with pytest.raises(TrainingError, match="GroundingParams"):
        FineTuning(grounding=3.0)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        (FineTuning, {"epochs": -1}),
        (FineTuning, {"epochs": 1.5}),
        (FineTuning, {"decay_every": 0}),
        (FineTuning, {"lr": -1}),
        (FineTuning, {"lr": float("nan")}),
        (FineTuning, {"momentum": "auto"}),
        (FineTuning, {"amp": "int8"}),
        (DenseTraining, {"head_lr": -1}),
        (DenseTraining, {"lr": "auto"}),
        (AdapterTraining, {"kind": "deep"}),
        (AdapterTraining, {"epochs": -1}),
    ],
)
def test_wrong_settings(kind, setting):
    (name,) = setting
    with pytest.raises(TrainingError, match="adapter" if name == "kind" else name):
        kind(**setting)
