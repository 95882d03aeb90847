"""Arguments of the wrong kind, at every public door: each is told in a sentence or two.

Where an argument is already wrong by itself, no batch is read.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, TensorDataset

import qpopt_torch
from qpopt_torch import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    SparseClassifier,
    accuracy,
    collect,
    evaluate,
    extract,
    find_head,
    fine_tune,
    sparsify,
    sweep,
    train_adapter,
    train_dense,
)
from tests.qpopt_torch.attack import refused
from tests.qpopt_torch.small import batches, cnn, mlp, sparse

DATA = batches()
X, Y = DATA[0]


class Unread:
    """Batches that must not be asked for."""

    def __iter__(self):
        raise AssertionError("a batch was read")


COUNTS = [0, -1, 2.5, "5", None, True, [5], float("nan")]
WISHES = [[-1], [0, 0], ["a"], [1.5], 3, "12", [True], {"a": 1}, [None]]
MAPPINGS = [5, "x", [1], {1: 2}, {"nothing": 1}, [("bias", "none")]]
PREPARING = {
    "similarity": ["cosine", 1, None, ["pearson"]],
    "bias": ["middle", 3, None, [[1.0]], ["a"], [float("nan")] * 8, object()],
    "bias_scale": [-1, "1", None, float("inf"), True],
    "redundancy": [-1, "1", None, float("nan")],
    "epsilon": ["1", float("nan"), [0.5]],
    "seed": [-1, 0.5, "0", None],
    "hint": [5, [-1], ["a"], [1, 1]],
    "name": [5, None],
    "provenance": [5, "x"],
}
SOLVING = {
    "method": ["quick", 1, None, ["search"]],
    "solver": ["cplex", 1, None],
    "time_limit": [-1, "60", float("nan"), True],
    "gap": [-1, "0.1", None, float("nan")],
    "seed": [-1, 0.5, "0", None],
    "threads": [0, -1, 1.5, "2"],
    "options": [5, {"nothing": 1}, "x"],
}
OTHERS = {
    "training": ["half", 1, [], DenseTraining(), {"epochs": 3}, True],
    "head": [5, "nothing", [], {"nothing": 1}, nn.Linear(2, 2), {"head": 5}],
    "class_names": [5, "abcd", ["a", "a", "b", "c"], {"a": 1}],
    "out": [5, b"x\0y", "/dev/null", "/dev/null/x", "x\0y", ["a"]],
    "progress": [None, 5, "yes"],
    "val_loader": [5, "x", iter([]), TensorDataset(X, Y), {}, torch.zeros(3)],
    "statistics_loader": [5, "x", iter([]), TensorDataset(X, Y), {}],
}

ALONE = [
    *[("n_select", value) for value in COUNTS],
    *[("n_per_class", value) for value in COUNTS],
    *[(name, value) for name in ("include", "exclude") for value in WISHES],
    *[(name, value) for name in ("prepare", "solve") for value in MAPPINGS],
    *[("prepare", {name: value}) for name, values in PREPARING.items() for value in values],
    *[("solve", {name: value}) for name, values in SOLVING.items() for value in values],
    *[(name, value) for name, values in OTHERS.items() for value in values],
]


def shown(value):
    """Name a case, the same in every process."""
    plain = isinstance(value, (int, float, str, bytes, list, dict, tuple, type(None)))
    text = f"{value!r:.40}"
    return text if plain and " at 0x" not in repr(value) else type(value).__name__


@pytest.mark.parametrize(("name", "value"), ALONE, ids=shown)
def test_sparsify_before_the_first_batch(name, value):
    given = {"n_select": 5, "n_per_class": 2, "progress": False, name: value}
    refused(lambda: sparsify(cnn(), Unread(), **given))


SWEEP = [
    *[(name, value) for name in ("n_select", "n_per_class") for value in ([], [0], ["a"], 5, "5")],
    *[(name, value) for name in ("n_select", "n_per_class") for value in (None, [2.5], [[5]])],
    *[(name, value) for name, value in ALONE if name in ("prepare", "solve", "include", "head")],
    *[("training", value) for value in ("full", FineTuning(), 5)],
]


@pytest.mark.parametrize(("name", "value"), SWEEP, ids=shown)
def test_sweep_before_the_first_batch(name, value):
    given = {"n_select": [5], "n_per_class": [2], "progress": False, name: value}
    refused(lambda: sweep(cnn(), Unread(), **given))


NO_LOADERS = [None, 5, "loader", TensorDataset(X, Y), {}, torch.zeros(3, 3), cnn(), [], [5], [[]]]
NO_MODELS = [None, "resnet", 5, cnn, [cnn()], {"a": cnn()}]
READERS = {
    "collect": lambda model, loader: collect(model, loader, progress=False),
    "evaluate": lambda model, loader: evaluate(model, loader, progress=False),
    "accuracy": lambda model, loader: accuracy(model, loader, progress=False),
    "train_dense": lambda model, loader: train_dense(
        model, loader, DenseTraining(epochs=1), progress=False
    ),
    "fine_tune": lambda model, loader: fine_tune(
        model if model is None or isinstance(model, (str, int, list, dict)) else sparse(),
        loader,
        FineTuning(epochs=1, lr=0.1),
        progress=False,
    ),
    "extract": lambda model, loader: extract(model, loader, find_head(cnn(), X), progress=False),
    "sparsify": lambda model, loader: sparsify(
        model, loader, n_select=5, n_per_class=2, training=None, progress=False
    ),
}


@pytest.mark.parametrize("loader", NO_LOADERS, ids=shown)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_loader(reader, loader):
    refused(lambda: READERS[reader](cnn(), loader))


@pytest.mark.parametrize("model", NO_MODELS, ids=shown)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_model(reader, model):
    if reader == "fine_tune" and model is cnn:
        pytest.skip("the same as a dense model")
    refused(lambda: READERS[reader](model, DATA))


def test_only_sparse_models_are_fine_tuned():
    refused(lambda: fine_tune(cnn(), DATA, FineTuning(epochs=1, lr=0.1), progress=False))


SETTINGS = {
    FineTuning: {
        "epochs": [-1, 1.5, "3", None, True],
        "lr": [-1, "fast", None, float("nan"), True],
        "momentum": [-1, 1, "x", None],
        "weight_decay": [-1, "x", None],
        "decay": [-1, "x", float("inf")],
        "decay_every": [0, -1, 1.5, None],
        "warmup": [-1, "x", None, float("nan")],
        "beta": [-1, "x", None],
        "amp": ["half", None, 16],
        "seed": [-1, 0.5, None],
        "trials": [None, 3, (1e-3,)],
    },
    AdapterTraining: {
        "kind": ["deep", None, 1],
        "hidden": [0, -1, 1.5, None],
        "epochs": [-1, 1.5, None],
        "batch_size": [0, -1, 2.5, None],
        "lr": [-1, "auto", None],
        "smoothing": [-1, 1, "x"],
        "noise": [-1, 1, "x"],
    },
    DenseTraining: {"dropout": [-1, 1, "x"], "head_lr": [-1, "auto", None]},
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (kind, name, value)
        for kind, fields in SETTINGS.items()
        for name, values in fields.items()
        for value in values
    ],
    ids=shown,
)
def test_settings(kind, name, value):
    refused(lambda: kind(**{name: value}))


@pytest.mark.parametrize("settings", [5, "fast", {}, DenseTraining(), AdapterTraining], ids=shown)
def test_settings_of_another_training(settings):
    refused(lambda: fine_tune(sparse(), Unread(), settings, progress=False))
    refused(lambda: train_adapter(sparse().sparse_head, torch.rand(6, 8), Y, settings))
    if not isinstance(settings, DenseTraining):
        refused(lambda: train_dense(cnn(), Unread(), settings, progress=False))


F = torch.rand(6, 8, generator=torch.Generator().manual_seed(0))


WRONG = [
    *[(F, labels) for labels in (Y.tolist()[:5], [5] * 6, "labels", None, Y[:3], Y + 4, Y - 1)],
    *[(F, labels) for labels in (Y.float(), torch.eye(4)[Y], Y.bool(), [0.5] * 6)],
    *[(features, Y) for features in (None, "features", F[:, :4], F[0], F[:0], [[1.0], [1.0, 2.0]])],
    *[(features, Y) for features in (F * torch.nan, F.to(torch.complex64), [["a"]] * 6)],
]


@pytest.mark.parametrize(("features", "labels"), WRONG, ids=shown)
def test_features_and_labels_of_an_adapter(features, labels):
    settings = AdapterTraining(epochs=1)
    head = sparse().sparse_head
    refused(lambda: train_adapter(head, features, labels, settings, progress=False))


@pytest.mark.parametrize("form", [torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.double])
def test_features_may_be_lists_and_arrays(form):
    heads = sparse().sparse_head, sparse().sparse_head
    settings = AdapterTraining(epochs=1)
    train_adapter(heads[0], F, Y, settings, progress=False)
    labels = Y if form is torch.Tensor.double else form(Y)
    train_adapter(heads[1], form(F), labels, settings, progress=False)
    assert torch.equal(heads[0](F), heads[1](F))


@pytest.mark.parametrize("head", [None, 5, "6", cnn(), nn.Linear(8, 4)], ids=shown)
def test_what_is_no_sparse_head(head):
    refused(lambda: train_adapter(head, F, Y, AdapterTraining(epochs=1), progress=False))


@pytest.mark.parametrize("validation", [5, (F,), (F, Y, Y), (F[:, :3], Y), (F, Y + 9)], ids=shown)
def test_validation_of_an_adapter(validation):
    settings = AdapterTraining(epochs=1)
    head = sparse().sparse_head
    refused(lambda: train_adapter(head, F, Y, settings, validation=validation, progress=False))


@pytest.mark.parametrize("bins", [-1, 1.5, "64", None, True, 1, 10**12], ids=shown)
def test_bins(bins):
    refused(lambda: collect(cnn(), DATA, bins=bins, progress=False))


@pytest.mark.parametrize("like", [5, "x", {}], ids=shown)
def test_statistics_like_others(like):
    refused(lambda: collect(cnn(), DATA, like=like, progress=False))


def test_statistics_like_those_of_another_model():
    other = collect(cnn(n_features=5), DATA, bins=8, progress=False)
    refused(lambda: collect(cnn(), DATA, like=other, progress=False))


@pytest.mark.parametrize(
    "attributes",
    [5, "x", [[1.0]], [[2.0]] * 4, [["a"]] * 4, [[1, 0], [1]], torch.full((4, 2), torch.nan)],
    ids=shown,
)
def test_attributes(attributes):
    refused(lambda: evaluate(cnn(), DATA, attributes=attributes, progress=False))


@pytest.mark.parametrize(
    "x", [None, 5, "x", X.tolist(), X[:0], torch.zeros(3), X.long(), X * torch.nan], ids=shown
)
def test_inputs_of_find_head(x):
    refused(lambda: find_head(cnn(), x))


@pytest.mark.parametrize("path", [5, None, b"x", "/nowhere/at/all", "x\0y"], ids=shown)
def test_folders_of_load(path):
    refused(lambda: qpopt_torch.load(path, cnn()))


@pytest.mark.parametrize("path", [5, None, "/dev/null/x", "x\0y"], ids=shown)
def test_folders_of_save(path):
    refused(lambda: sparse().save(path))


@pytest.mark.parametrize("model", [*NO_MODELS, mlp(), nn.Identity()], ids=shown)
def test_models_of_load(model, tmp_path):
    sparse().save(tmp_path)
    refused(lambda: qpopt_torch.load(tmp_path, model))


@pytest.mark.parametrize("c", [-1, 4, "raven", None, 1.5, [0], True], ids=shown)
def test_classes(c):
    refused(lambda: sparse().class_features(c))


@pytest.mark.parametrize("names", [5, {9: "a"}, {"x": "a"}, {0: "a", 1: "a"}, ["a"]], ids=shown)
def test_names_of_features(names):
    refused(lambda: sparse().rename_features(names))


@pytest.mark.parametrize("dropout", [-1, 1.5, "x", None], ids=shown)
def test_dropout(dropout):
    model = cnn()
    made = sparse(model)
    statistics = collect(model, DATA, progress=False)
    refused(
        lambda: SparseClassifier.from_solution(model, made.solution, statistics, dropout=dropout)
    )


class Items(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return X[i], int(Y[i])


def test_a_data_set_says_to_pass_a_loader():
    for reader in READERS.values():
        assert "DataLoader(dataset, batch_size=32)" in str(
            refused(lambda r=reader: r(cnn(), Items()))
        )
