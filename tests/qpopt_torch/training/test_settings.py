import pytest

from qpopt_torch import AdapterTraining, DenseTraining, FineTuning, TrainingError


def test_the_published_schedules():
    tuning, dense = FineTuning(), DenseTraining()
    assert (tuning.epochs, tuning.momentum, tuning.weight_decay) == (40, 0.95, 5e-4)
    assert [tuning.rate(e) for e in (0, 9, 10, 39)] == pytest.approx([1, 1, 0.4, 0.4**3])
    assert (dense.epochs, dense.lr, dense.head_lr, dense.dropout) == (150, 5e-3, 1e-2, 0.2)
    # 100 times the last dense rate is the published start of fine-tuning.
    assert 100 * dense.lr * dense.rate(149) == pytest.approx(1.28e-2)


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
