"""Saved models, edited in every place: each is refused, or gives what it gave before."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import safetensors.torch
import torch

import qpopt_torch
from qpopt import QpoptError
from qpopt_torch import Adapter
from qpopt_torch.sparse.consistency import seal
from tests.qpopt_torch.attack import refused, survived
from tests.qpopt_torch.small import batches, cnn, sparse

X = batches()[0][0]
FILES = ("config.json", "solution.json", "weights.safetensors")

CONFIG = (
    *("format", "version", "qpopt", "architecture", "head", "n_select", "dropout", "hidden"),
    *("class_names", "feature_names", "solution", "seal", "head.name", "head.n_features"),
    *("head.n_classes", "head.layer", "head.layout", "head.norm", "head.dropouts", "head.calls"),
    *("model", "arguments", "input", "preprocessing", "metrics", "history", "manifest", "versions"),
    *("head.layout.channels", "head.layout.pooling", "head.layout.prefix", "head.layout.relu"),
    *("head.layout.masked", "head.steps", "head.mask", "head.output"),
)
SOLUTION = (
    *("format", "version", "qpopt", "objective", "status", "bound", "method", "solver", "seconds"),
    *("seed", "trace", "fingerprint", "details", "selection", "class_sets"),
)
TENSORS = (
    *("0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"),
    *("1.num_batches_tracked", "6.selection", "6.assignment", "6.mean", "6.std"),
)
VALUES = {
    "gone": None,
    "null": None,
    "text": "x",
    "negative": -1,
    "huge": 10**400,
    "fraction": 0.5,
    "list": [1],
    "mapping": {"a": 1},
    "true": True,
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    made = sparse()
    made.class_names = ("a", "b", "c", "d")
    made.rename_features({1: "beak"})
    made.save(folder)
    return folder, made


@pytest.fixture
def edited(saved, tmp_path):
    """A copy of the folder that may be spoilt, and the model that is in it."""
    folder, made = saved
    return shutil.copytree(folder, tmp_path / "edited"), made


def check(folder, made):
    """A folder is refused, or holds the model that it held."""
    found = survived(lambda: qpopt_torch.load(folder, cnn(seed=5)))
    if isinstance(found, QpoptError):
        return
    seen, before = survived(lambda: found.features(X)), made.features(X)
    if isinstance(seen, QpoptError):  # an output of another name
        return
    assert torch.equal(seen.logits, before.logits)
    assert torch.equal(seen.features, before.features)
    assert torch.equal(seen.maps, before.maps)
    assert np.array_equal(found.selection, made.selection)
    if found.solution is not None:
        assert found.solution.class_sets() == made.solution.class_sets()


def put(record, path, what):
    """Put something else in one place of nested mappings."""
    *outer, last = path.split(".")
    for key in outer:
        record = record[key]
    assert last in record
    if what == "gone":
        del record[last]
    else:
        record[last] = VALUES[what]


def sealed_again(folder):
    """Make the seal fit, as somebody would who wants the edit to be taken."""
    stored = json.loads((folder / "config.json").read_text())
    try:
        stored["seal"] = seal(stored, (folder / "weights.safetensors").read_bytes())
    except KeyError:
        return
    (folder / "config.json").write_text(json.dumps(stored))


def edit_json(folder, name, path, what):
    record = json.loads((folder / name).read_text())
    put(record, path, what)
    (folder / name).write_text(json.dumps(record))


def test_every_place_is_attacked(saved):
    """What a later version saves besides needs an attack of its own."""
    folder, _ = saved

    def places(record, before=""):
        for key, value in record.items():
            yield before + key
            if isinstance(value, dict) and key not in ("feature_names", "details", "versions"):
                yield from places(value, f"{before}{key}.")

    assert set(places(json.loads((folder / "config.json").read_text()))) == set(CONFIG)
    assert set(places(json.loads((folder / "solution.json").read_text()))) == set(SOLUTION)
    held = safetensors.torch.load_file(folder / "weights.safetensors")
    assert set(held) == {f"network.{name}" for name in TENSORS}


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("path", CONFIG)
def test_an_edited_configuration(edited, path, what):
    folder, made = edited
    edit_json(folder, "config.json", path, what)
    check(folder, made)
    sealed_again(folder)
    check(folder, made)


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("path", SOLUTION)
def test_an_edited_solution(edited, path, what):
    folder, made = edited
    edit_json(folder, "solution.json", path, what)
    check(folder, made)


EDITS = {
    "gone": lambda t: None,
    "NaN": lambda t: t.double().mul(torch.nan),
    "infinite": lambda t: t.double() + torch.inf,
    "flat": lambda t: t.reshape(-1)[:-1],
    "deeper": lambda t: t[None],
    "whole": lambda t: t.to(torch.int32) + 1,
    "negative": lambda t: -t.abs() - 1,
    "large": lambda t: t + 10**6,
    "complex": lambda t: t.to(torch.complex64),
    "last first": lambda t: t.flip(0) if t.ndim else t + 1,
}


@pytest.mark.parametrize("what", EDITS)
@pytest.mark.parametrize("name", TENSORS)
def test_edited_weights(edited, name, what):
    folder, made = edited
    weights = folder / "weights.safetensors"
    held = safetensors.torch.load_file(weights)
    before = held.pop(f"network.{name}")
    changed = EDITS[what](before)
    if changed is not None and changed.dtype == before.dtype and torch.equal(changed, before):
        return  # fresh norms are the same backwards
    more = {} if changed is None else {f"network.{name}": changed.contiguous()}
    safetensors.torch.save_file({**held, **more}, weights)
    refused(lambda: qpopt_torch.load(folder, cnn()))
    sealed_again(folder)
    found = survived(lambda: qpopt_torch.load(folder, cnn()))
    # Other weights can be right; but they give numbers, and selection and assignment are those of
    # the solution.
    if not isinstance(found, QpoptError):
        assert name.startswith(("0", "1", "6.mean", "6.std"))
        assert torch.isfinite(found(X)).all()
        assert np.array_equal(found.assignment, made.assignment)
        assert np.array_equal(found.selection, found.solution.selection)


WRECKS = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"}x"),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a list": lambda path: path.write_text("[]"),
    "null": lambda path: path.write_text("null"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "a bit": lambda path: path.write_bytes(_flipped(path.read_bytes())),
}


def _flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :]


@pytest.mark.parametrize("wreck", WRECKS)
@pytest.mark.parametrize("name", FILES)
def test_a_wrecked_file(edited, name, wreck):
    folder, made = edited
    WRECKS[wreck](folder / name)
    check(folder, made)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_model(edited, tmp_path, name):
    folder, _ = edited
    other = sparse(cnn(seed=3), batches(seed=4))
    other.sparse_head.assignment.copy_(other.sparse_head.assignment.flip(0))
    other.solution = None
    other.save(tmp_path / "other")
    other.solution = sparse(cnn(seed=3), batches(seed=4), n_per_class=3).solution
    other.solution.save(tmp_path / "other" / "solution.json")
    shutil.copy(tmp_path / "other" / name, folder / name)
    refused(lambda: qpopt_torch.load(folder, cnn()))


@pytest.mark.parametrize("hidden", [0, 3])
@pytest.mark.parametrize("what", EDITS)
def test_edited_adapters(tmp_path, hidden, what):
    made = sparse()
    made.sparse_head.adapter = Adapter(torch.rand(8), torch.rand(8), made.selection, hidden=hidden)
    made.save(tmp_path)
    held = safetensors.torch.load_file(tmp_path / "weights.safetensors")
    for name in [name for name in held if ".adapter." in name]:
        changed = EDITS[what](held[name])
        more = {} if changed is None else {name: changed.contiguous()}
        rest = {key: value for key, value in held.items() if key != name}
        safetensors.torch.save_file({**rest, **more}, tmp_path / "weights.safetensors")
        sealed_again(tmp_path)
        found = survived(lambda: qpopt_torch.load(tmp_path, cnn()))
        assert isinstance(found, QpoptError) or torch.isfinite(found(X)).all(), name
