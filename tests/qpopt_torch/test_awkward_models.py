"""Models and batches that are unusual: they work, or one sentence says why not."""

from __future__ import annotations

import logging
from functools import wraps

import numpy as np
import pytest
import torch
from torch import nn

import qpopt
from qpopt import InvalidArgument
from qpopt_torch import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    LoaderError,
    ModelError,
    PartialTraining,
    SparseHead,
    Statistics,
    TrainingError,
    accuracy,
    collect,
    evaluate,
    find_head,
    fine_tune,
    load,
    sparsify,
    sweep,
    train_adapter,
    train_dense,
)
from qpopt_torch.pipeline.judging import judge
from qpopt_torch.training.params import TrialParams
from tests.qpopt_torch.small import any_solution, batches, cnn, same, sparse, weights

DATA = batches(sizes=(8,) * 4)
X, Y = DATA[0]
COUNTS = {"n_select": 5, "n_per_class": 2, "progress": False}
FULL = FineTuning(epochs=1, lr=1e-3)
FROZEN = AdapterTraining(epochs=1, batch_size=16)
SHORT_TRIALS = TrialParams(rates=(1e-3, 1e-4), steps=9)


@pytest.fixture(autouse=True)
def solved(monkeypatch):
    """Solve by the first selection there is."""
    solve = wraps(qpopt.solve)(lambda instance, **_: any_solution(instance))
    monkeypatch.setattr(qpopt, "solve", solve)


class Counted:
    """Batches that count how often one was asked for."""

    def __init__(self, data=DATA):
        self.data, self.read = data, 0

    def __iter__(self):
        for batch in self.data:
            self.read += 1
            yield batch

    def __len__(self):
        return len(self.data)


def frozen(*numbers):
    """A model without gradients, in some of its parts or in all."""
    model = cnn()
    for part in [model[n] for n in numbers] or [model]:
        part.requires_grad_(False)
    return model


@pytest.mark.parametrize("training", [FROZEN, None])
@pytest.mark.parametrize("parts", [(), (0,), (0, 1), (6,)])
def test_parameters_without_gradients(parts, training):
    made = sparsify(frozen(*parts), DATA, training=training, **COUNTS)
    assert made(X).isfinite().all()


@pytest.mark.parametrize("parts", [(0,), (1,), (6,)])
def test_only_what_has_a_gradient_is_trained(parts):
    model = frozen(*parts)
    made = sparsify(model, DATA, training=FULL, **COUNTS)
    for n in (0, 1):
        assert torch.equal(made.network[n].weight, model[n].weight) is (n in parts)


@pytest.mark.parametrize("parts", [(), (0, 1)])
def test_nothing_to_train_is_said(parts):
    with pytest.raises(TrainingError, match="no parameter before the head requires a gradient"):
        sparsify(frozen(*parts), DATA, training=FULL, **COUNTS)
    model = frozen(0, 1, 6)
    with pytest.raises(TrainingError, match="There is nothing to train"):
        train_dense(model, DATA, DenseTraining(epochs=1), progress=False)


@pytest.mark.parametrize("training", [FULL, FROZEN, None])
def test_double_precision(training, tmp_path):
    model = cnn().double()
    made = sparsify(model, DATA, training=training, val_loader=DATA, out=tmp_path, **COUNTS)
    assert made(X.double()).dtype == torch.float64
    assert 0 <= evaluate(made, DATA, progress=False).accuracy <= 1
    assert torch.equal(load(tmp_path, cnn().double())(X.double()), made(X.double()))


def test_double_precision_in_a_sweep():
    found = sweep(cnn().double(), DATA, n_select=[5], n_per_class=[2], training=FROZEN)
    assert found.dense_accuracy == accuracy(cnn().double(), DATA, progress=False)


@pytest.mark.parametrize("model", [nn.Linear(243, 4), nn.Conv2d(243, 4, 1)])
def test_a_model_that_is_its_head(model):
    data = [(x.flatten(1), y) for x, y in DATA]
    if isinstance(model, nn.Conv2d):
        data = [(x[..., None, None], y) for x, y in data]
    for call in (
        lambda: sparsify(model, data, **COUNTS),
        lambda: collect(model, data, progress=False),
        lambda: find_head(model, data[0][0]),
    ):
        with pytest.raises(ModelError, match=r"nn\.Sequential\(nn\.Identity\(\), model\)"):
            call()


def test_what_is_advised_for_a_model_that_is_its_head_works():
    model = nn.Sequential(nn.Identity(), nn.Linear(243, 4))
    data = [(x.flatten(1), y) for x, y in DATA]
    made = sparsify(model, data, training=None, **COUNTS)
    assert made(data[0][0]).shape == (8, 4)


def with_norm(n_features=8):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(243, n_features), nn.BatchNorm1d(n_features), nn.ReLU(),
        nn.Linear(n_features, 4),
    )  # fmt: skip


@pytest.mark.parametrize("train", ["full", "auto", "dense"])
def test_a_last_batch_of_one_sample(train):
    """A batch norm in training finds no spread in one sample, and raises an error of its own."""
    data = [*DATA[:2], (X[:1], Y[:1])]
    if train == "dense":
        history = train_dense(with_norm(), data, DenseTraining(epochs=2), progress=False)
        assert len(history.epochs) == 2
    else:
        settings = FULL if train == "full" else FineTuning(epochs=1, trials=SHORT_TRIALS)
        made = sparsify(with_norm(), data, training=settings, **COUNTS)
        assert made(X).isfinite().all()


EMPTY = (X[:0], Y[:0])
READERS = {
    "collect": lambda model, data: collect(model, data, progress=False),
    "accuracy": lambda model, data: accuracy(model, data, progress=False),
    "evaluate": lambda model, data: evaluate(model, data, progress=False),
    "fine_tune": lambda model, data: fine_tune(sparse(), data, FULL, progress=False),
    "train_dense": lambda model, data: train_dense(
        model, data, DenseTraining(epochs=1), progress=False
    ),
    "sparsify": lambda model, data: sparsify(model, data, training=None, **COUNTS),
    "as val_loader": lambda model, data: sparsify(
        model, DATA, training=None, val_loader=data, **COUNTS
    ),
    "sweep": lambda model, data: sweep(
        model, data, n_select=[5], n_per_class=[2], training=None, progress=False
    ),
}
SEVERAL = torch.eye(4)[Y] + torch.eye(4)[(Y + 1) % 4]
BAD_BATCHES = {
    "empty": (EMPTY, "has no samples; leave it out"),
    "text labels": ((X, ("a",) * 8), "labels of batch . are a tuple of str"),
    "text": ((X, "abcdefgh"), "labels of batch . are a str"),
    "two inputs": ((X, X, Y), "has 2 inputs; the model takes one"),
    "a pair of inputs": (((X, X), Y), "has 2 inputs; the model takes one"),
    "three inputs": (((X, X, X), Y), "has 3 inputs"),
    "multi-label": ((X, SEVERAL), "multi-label targets"),
    "multi-label, whole": ((X, SEVERAL.long()), "multi-label targets"),
    "no class at all": ((X, torch.zeros(8, 4)), "multi-label targets"),
    "one-hot": ((X, torch.eye(4)[Y]), "one-hot or soft"),
    "floats": ((X, Y.float()), "must be whole class numbers"),
    "too large": ((X, Y + 1), "has the label 4; the model knows the classes 0 to 3"),
    "negative": ((X, Y - 1), "has the label -1"),
    "too few": ((X, Y[:5]), "8 samples need one class number each"),
    "a sample": ((X[0], Y[0]), "a single sample"),
    "only inputs": (X, "every batch must be"),
    "no labels": ((X,), "every batch must be"),
    "None": (None, "every batch must be"),
    "a mapping without labels": ({"x": X}, "needs inputs and one of"),
    "arrays": ((X.numpy(), Y.numpy()), "not a tensor"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("bad", BAD_BATCHES)
def test_bad_batches(bad, reader):
    batch, message = BAD_BATCHES[bad]
    with pytest.raises(LoaderError, match=message):
        READERS[reader](cnn(), [batch])


@pytest.mark.parametrize("reader", [r for r in READERS if r != "as val_loader"])
@pytest.mark.parametrize("bad", ["empty", "two inputs", "multi-label", "too large"])
def test_bad_batches_after_good_ones(bad, reader):
    batch, message = BAD_BATCHES[bad]
    with pytest.raises(LoaderError, match=message) as caught:
        READERS[reader](cnn(), [*DATA, batch])
    assert "atch 4" in str(caught.value)


@pytest.mark.parametrize("reader", READERS)
def test_images_of_bytes(reader):
    images = [(x.mul(20).clamp(0, 255).to(torch.uint8), y) for x, y in DATA]
    with pytest.raises(ModelError, match=r"fails on batch 0, uint8 .*x\.float\(\) / 255"):
        READERS[reader](cnn(), images)


class Raising(nn.Module):
    """A model whose code fails, from the first batch on or later."""

    def __init__(self, after=0, error=ZeroDivisionError):
        super().__init__()
        self.inner, self.after, self.error = cnn(), after, error

    def forward(self, x):
        if len(x) == 8 and x[0, 0, 0, 0] == DATA[self.after][0][0, 0, 0, 0]:
            raise self.error("of the model\nin two lines")
        return self.inner(x)


@pytest.mark.parametrize("reader", [r for r in READERS if r not in ("fine_tune", "sparsify")])
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyError, RuntimeError, AssertionError])
def test_models_that_raise(reader, after, error):
    with pytest.raises(ModelError, match=rf"fails on batch {after}.*of the model") as caught:
        READERS[reader](Raising(after, error), DATA)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", [r for r in READERS if r != "fine_tune"])
def test_a_model_without_values(reader):
    with torch.device("meta"):
        model = cnn()
    with pytest.raises(ModelError, match="meta device, where there are no values"):
        READERS[reader](model, DATA)


def test_no_epochs_train_nothing():
    made, data = sparse(), Counted()
    before = weights(made)
    assert fine_tune(made, data, FineTuning(epochs=0), progress=False).epochs == []
    assert data.read == 0
    assert same(before, weights(made))
    dense = cnn()
    before = weights(dense)
    assert train_dense(dense, data, DenseTraining(epochs=0), progress=False).epochs == []
    assert same(before, weights(dense))


@pytest.mark.parametrize(
    "training",
    [
        FineTuning(epochs=0),
        PartialTraining(epochs=0),
        AdapterTraining(epochs=0),
        AdapterTraining(epochs=0, relu=False),
        AdapterTraining(epochs=0, kind="linear"),
    ],
    ids=lambda settings: f"{type(settings).__name__}-{vars(settings).get('kind')}",
)
def test_no_epochs_of_any_kind_change_nothing(training):
    """Not a bit: the model is what it is without any training."""
    trained = sparsify(cnn(), DATA, training=training, **COUNTS)
    plain = sparsify(cnn(), DATA, training=None, **COUNTS)
    assert torch.equal(trained(X), plain(X))
    assert same(weights(trained), weights(plain))


def test_no_epochs_leave_an_adapter_as_it_is():
    head = SparseHead(np.arange(2), np.eye(2, dtype=bool), np.zeros(2), np.ones(2))
    features, labels = torch.randn(20, 3), torch.arange(20) % 2
    train_adapter(head, features, labels, AdapterTraining(epochs=1, hidden=4), progress=False)
    adapter, before = head.adapter, weights(head)
    history = train_adapter(head, features, labels, AdapterTraining(epochs=0), progress=False)
    assert history.epochs == []
    assert head.adapter is adapter
    assert same(before, weights(head))
    assert not head.training


@pytest.mark.parametrize("n_batches", [1, 3, 4])
def test_the_trial_of_rates_reads_one_epoch_at_the_most(n_batches):
    """One epoch of trials, one of training; whatever the number of steps of a trial."""
    data = Counted(DATA[:n_batches])
    fine_tune(sparse(), data, FineTuning(epochs=1, trials=SHORT_TRIALS), progress=False)
    assert data.read == 2 * n_batches


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_features_that_vary_by_rounding_are_constant(dtype, caplog):
    """The last digit of a large feature follows the class; that is no signal."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(60) % 3
    values = torch.rand(60, 4, generator=generator, dtype=torch.float64)
    values[:, 1] = 1000 * (1 + torch.finfo(dtype).eps * labels)
    values[:, 2] = 7.0
    with caplog.at_level(logging.WARNING, "qpopt"):
        found = Statistics.from_features(values.to(dtype), labels)
        similarity = found.similarity()
    assert (found.std == 0).tolist() == [False, True, True, False]
    assert not similarity[:, 1:3].any()
    assert similarity[:, [0, 3]].all()
    assert caplog.text.count("2 features are constant") == 1


def test_a_small_signal_on_a_large_mean_is_kept():
    labels = torch.arange(60) % 3
    values = torch.stack([1000 + 0.1 * labels, labels.float()], 1)
    assert (Statistics.from_features(values, labels).std > 0).all()


@pytest.mark.parametrize(
    ("dense", "after", "said"),
    [
        (0.9, 0.9, []),
        (0.9, 0.881, []),
        (0.9, 0.879, ["2.1 points below"]),
        (0.5, 0.5, ["hardly better than chance"]),
        (0.52, 0.4, ["hardly better than chance", "12.0 points below"]),
    ],
)
def test_what_would_make_a_sparse_model_useless_is_said(dense, after, said, caplog):
    """Half of the samples are of one class."""
    labels = np.array([0] * 10 + [1] * 5 + [2] * 5)
    statistics = Statistics.from_features(np.random.default_rng(0).random((20, 3)), labels)
    with caplog.at_level(logging.WARNING, "qpopt"):
        judge(dense, after, statistics)
    assert len(caplog.records) == len(said)
    assert all(text in caplog.text for text in said)


def test_the_warning_reaches_who_calls_sparsify(caplog):
    with caplog.at_level(logging.WARNING, "qpopt"):
        sparsify(cnn(), DATA, training=None, val_loader=DATA, **COUNTS)
    assert "The dense model is hardly better than chance" in caplog.text


@pytest.mark.parametrize("names", [["a", "b", "a", "c"], ["a", "b", "c", "c"], [1, "1", 2, 3]])
def test_two_classes_of_one_name(names):
    for call in (
        lambda: sparsify(cnn(), DATA, class_names=names, **COUNTS),
        lambda: collect(cnn(), DATA, class_names=names, progress=False),
        lambda: Statistics.from_features(torch.rand(8, 3), Y, class_names=names),
    ):
        with pytest.raises(InvalidArgument, match="twice; give every class a name of its own"):
            call()
