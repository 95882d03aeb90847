"""The Python blocks of the README run one after the other, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import torch

import qpopt
import qpopt_torch
from tests.qpopt_torch.small import batches, cnn

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def test_the_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = cnn(n_features=60, n_classes=4)
    data = batches(sizes=(12, 12))
    known = {
        "model": model,
        "train_loader": data,
        "val_loader": data,
        "x": data[0][0],
        "names": ["crow", "finch", "gull", "wren"],
    }
    for block in BLOCKS:
        exec(compile(block, README.name, "exec"), known)
    loaded = qpopt_torch.load("sparse-model", model)
    assert torch.equal(loaded(known["x"]), known["sparse"].eval()(known["x"]))
    assert len(loaded.class_features(3)) == 5
    assert "wren" in Path("report.html").read_text()
    instance = qpopt.Instance.load("instance.npz")
    assert (instance.n_classes, instance.n_features) == (20, 60)
    assert np.array_equal(
        qpopt.Solution.load("solution.json").selection, known["solution"].selection
    )
