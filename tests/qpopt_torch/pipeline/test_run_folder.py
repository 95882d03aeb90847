"""A folder given as `out` is one problem, whatever call comes next and whatever was edited."""

from __future__ import annotations

import json
import shutil
from functools import wraps

import numpy as np
import pytest
import torch

import qpopt
import qpopt_torch
from qpopt import InvalidArgument, QpoptError
from qpopt_torch import AdapterTraining, FineTuning, sparsify, sweep
from tests.qpopt_torch.attack import refused, survived
from tests.qpopt_torch.small import any_solution, batches, cnn

DATA = batches(sizes=(8,) * 4)
X = DATA[0][0]
FROZEN = AdapterTraining(epochs=1, batch_size=16)
CALL = {"n_select": 5, "n_per_class": 2, "training": FROZEN, "progress": False}


@pytest.fixture(autouse=True)
def solved(monkeypatch):
    """Solve by the first selection there is, and count the solves."""
    calls = []

    @wraps(qpopt.solve)
    def solve(instance, **options):
        calls.append(options)
        return any_solution(instance)

    monkeypatch.setattr(qpopt, "solve", solve)
    return calls


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a function that copies the folder of a finished call, and gives what came of it."""
    known = {}

    def copy(folder, start, **options):
        key = start.__name__, *options
        if key not in known:
            place = tmp_path_factory.mktemp("finished")
            known[key] = place, start(place, **options)
        shutil.copytree(known[key][0], folder, dirs_exist_ok=True)
        return known[key][1]

    return copy


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def other_samples():
    return [(x + 1.0, y) for x, y in DATA]


CHANGES = {
    "n_select": {"n_select": 6},
    "n_per_class": {"n_per_class": 3},
    "include": {"include": [7]},
    "exclude": {"exclude": [5]},
    "similarity": {"prepare": {"similarity": "auroc"}},
    "bias": {"prepare": {"bias": "none"}},
    "bias_scale": {"prepare": {"bias_scale": 0.5}},
    "epsilon": {"prepare": {"epsilon": 0.25}},
    "method": {"solve": {"method": "paper"}},
    "time_limit": {"solve": {"time_limit": 7.0}},
    "seed": {"solve": {"seed": 1}},
    "no training": {"training": None},
    "another training": {"training": FineTuning(epochs=1, lr=1e-3)},
    "another rate": {"training": AdapterTraining(epochs=1, batch_size=16, lr=0.1)},
    "class_names": {"class_names": ["a", "b", "c", "d"]},
    "head": {"head": {"feature_layer": "1"}},
    "model": {"model": cnn(seed=1)},
    "samples": {"loader": other_samples()},
    "fewer samples": {"loader": DATA[:3]},
}
"""Ways to call again, and what the refusal has to name."""

NAMED = {
    "similarity": "prepare.similarity",
    "bias": "prepare.bias",
    "method": "solve.method",
    "no training": "training",
    "another training": "training",
    "another rate": "training.lr",
    "samples": "the samples of the loader",
    "fewer samples": "the samples of the loader",
}


def call(folder, *, model=None, loader=DATA, **options):
    return sparsify(cnn() if model is None else model, loader, out=folder, **{**CALL, **options})


@pytest.mark.parametrize("change", CHANGES)
def test_another_call_is_refused_and_changes_nothing(tmp_path, solved, finished, change):
    finished(tmp_path, call)
    solved.clear()
    before = content(tmp_path)
    with pytest.raises(InvalidArgument, match="belongs to another call") as caught:
        call(tmp_path, **CHANGES[change])
    assert NAMED.get(change, change) in str(caught.value)
    assert content(tmp_path) == before
    assert not solved


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_select": 9},
        {"n_select": 3, "n_per_class": 1},
        {"exclude": [0, 1, 2, 3]},
        {"include": [8]},
        {"class_names": ["a"]},
        {"prepare": {"bias": [1.0]}},
        {"solve": {"time_limit": -1}},
        {"head": "nothing"},
        {"loader": [(x, y + 4) for x, y in DATA]},
        {"val_loader": []},
    ],
)
def test_a_refused_call_changes_nothing(tmp_path, finished, wrong):
    finished(tmp_path, call)
    before = content(tmp_path)
    refused(lambda: call(tmp_path, **wrong))
    assert content(tmp_path) == before


def test_the_same_call_again_gives_the_same_model(tmp_path, solved):
    first, again = call(tmp_path), call(tmp_path)
    assert len(solved) == 1
    assert torch.equal(first(X), again(X))


def test_a_folder_without_a_manifest_is_not_taken(tmp_path):
    call(tmp_path)
    (tmp_path / "manifest.json").unlink()
    before = content(tmp_path)
    with pytest.raises(InvalidArgument, match=r"no manifest\.json"):
        call(tmp_path)
    assert content(tmp_path) == before


@pytest.mark.parametrize("first", [call, lambda folder: run_sweep(folder)])
def test_a_sweep_and_a_sparse_model_do_not_share_a_folder(tmp_path, first):
    first(tmp_path)
    before = content(tmp_path)
    with pytest.raises(InvalidArgument, match="belongs to another call"):
        (run_sweep if first is call else call)(tmp_path)
    assert content(tmp_path) == before


def run_sweep(folder, **options):
    given = {"n_select": [5], "n_per_class": [2], "training": None, "progress": False}
    return sweep(cnn(), DATA, out=folder, **{**given, **options})


FILES = ("manifest.json", "statistics.npz", "instance.npz", "solution.json", "config.json")
EDITS = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a list": lambda path: path.write_text("[]"),
    "a bit": lambda path: path.write_bytes(_flipped(path.read_bytes())),
}


def _flipped(whole):
    middle = len(whole) // 2
    return whole[:middle] + bytes([whole[middle] ^ 0x10]) + whole[middle + 1 :]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", [*FILES, "weights.safetensors"])
def test_an_edited_run_is_refused_or_gives_the_same(tmp_path, finished, name, edit):
    straight = finished(tmp_path, call)
    EDITS[edit](tmp_path / name)
    found = survived(lambda: call(tmp_path))
    if not isinstance(found, QpoptError):
        assert torch.equal(found(X), straight(X))
        assert torch.equal(qpopt_torch.load(tmp_path, cnn(seed=3))(X), straight(X))


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_checkpoint_is_refused_or_gives_the_same(tmp_path, finished, edit):
    training = FineTuning(epochs=1, lr=1e-3)
    straight = finished(tmp_path, call, training=training)
    EDITS[edit](tmp_path / "checkpoint.pt")
    found = survived(lambda: call(tmp_path, training=training))
    assert isinstance(found, QpoptError) or torch.equal(found(X), straight(X))


@pytest.mark.parametrize("key", ["settings", "start", "history", "model", "optimizer", "scaler"])
@pytest.mark.parametrize("value", ["gone", [], {}, {"rates": [1.0]}, [{"epoch": 9}]])
def test_an_edited_entry_of_a_checkpoint(tmp_path, finished, key, value):
    training = FineTuning(epochs=1, lr=1e-3)
    straight = finished(tmp_path, call, training=training)
    stored = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    stored.pop(key)
    torch.save(stored if value == "gone" else {**stored, key: value}, tmp_path / "checkpoint.pt")
    found = survived(lambda: call(tmp_path, training=training))
    assert isinstance(found, QpoptError) or torch.equal(found(X), straight(X))


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_sweep_is_refused_or_gives_the_same(tmp_path, finished, edit):
    straight = finished(tmp_path, run_sweep)
    EDITS[edit](tmp_path / "sweep.json")
    found = survived(lambda: run_sweep(tmp_path))
    if not isinstance(found, QpoptError):
        assert [p.selection for p in found.points] == [p.selection for p in straight.points]


@pytest.mark.parametrize("value", [None, "x", -1, [], {}, 2.5, 10**400, True])
@pytest.mark.parametrize("place", ["points", "dense_accuracy", "selection", "accuracy", "key"])
def test_an_edited_entry_of_a_sweep(tmp_path, finished, place, value):
    straight = finished(tmp_path, run_sweep)
    stored = json.loads((tmp_path / "sweep.json").read_text())
    (stored if place in stored else stored["points"][0])[place] = value
    (tmp_path / "sweep.json").write_text(json.dumps(stored))
    found = survived(lambda: run_sweep(tmp_path))
    if not isinstance(found, QpoptError) and place != "accuracy":
        assert [p.selection for p in found.points] == [p.selection for p in straight.points]
        assert 0 <= found.dense_accuracy <= 1


def test_statistics_of_another_run_are_not_taken(tmp_path):
    call(tmp_path / "one")
    call(tmp_path / "other", loader=other_samples())
    stolen = (tmp_path / "other" / "statistics.npz").read_bytes()
    (tmp_path / "one" / "statistics.npz").write_bytes(stolen)
    with pytest.raises(QpoptError, match="was changed after it was written"):
        call(tmp_path / "one")


def test_with_a_frozen_network_the_model_that_is_saved_is_the_one_given(tmp_path):
    """Another model is refused; the same one, built again, is taken."""
    call(tmp_path)
    with pytest.raises(InvalidArgument, match="model"):
        call(tmp_path, model=cnn(seed=2))
    assert np.array_equal(call(tmp_path).selection, qpopt_torch.load(tmp_path, cnn()).selection)
