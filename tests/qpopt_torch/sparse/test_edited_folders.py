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
    *("head.layout.channel", "head.layout.channels", "head.layout.pool", "head.layout.size"),
)
SOLUTION = (
    *("format", "version", "selection", "assignment", "objective", "status", "bound", "method"),
    *("seconds", "seed", "trace", "fingerprint", "details"),
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
    seen, before = found.features(X), made.features(X)
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
