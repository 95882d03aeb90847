from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks.studies.levels.data import digits, images
from benchmarks.studies.models.sources import Sources


def test_the_known_classes_alone(tmp_path):
    study = digits(1, Sources(), tmp_path)
    known = study.known()
    assert set(known.train[1].tolist()) == set(known.calibration[1].tolist()) == set(range(8))
    assert set(study.test[1].tolist()) == set(range(10))
    halves = len(study.calibration[1]), len(study.test[1])
    assert abs(halves[0] - halves[1]) <= 5
    assert np.allclose(np.diag(study.similarity), 1)
    assert torch.equal(known.train[0], study.train[0][study.train[1] < 8])


@pytest.fixture
def folder(tmp_path):
    """Pictures of four classes, and a network with ImageNet's kind of last layers."""
    rng = np.random.default_rng(0)
    for part, n in (("train", 6), ("test", 4)):
        for c in range(4):
            (tmp_path / part / f"{c}.Bird_{c}").mkdir(parents=True)
            for i in range(n):
                picture = rng.integers(0, 256, (16, 16, 3)).astype(np.uint8)
                Image.fromarray(picture).save(tmp_path / part / f"{c}.Bird_{c}" / f"{i}.png")
    (tmp_path / "nets.py").write_text(
        "from torch import nn\n\n\n"
        "def small(n_classes=9):\n"
        "    early = nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()\n"
        "    late = nn.Conv2d(4, 6, 3, 2, 1), nn.ReLU6()\n"
        "    pooled = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, n_classes)\n"
        "    return nn.Sequential(nn.Sequential(*early), nn.Sequential(*late), *pooled)\n"
    )
    return tmp_path


def test_images_reach_the_last_layers(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    sources = Sources(folder=folder, network="nets:small", from_layer="1", size=16)
    study = images(0, sources, folder / "out")
    sys.modules.pop("nets")
    x, y = study.train
    assert x.shape == (48, 4, 16, 16)
    assert y.tolist() == [c for _ in range(2) for c in range(4) for _ in range(6)]
    # A mirrored picture is another one; its activations hold as much where filters are not pooled.
    assert not torch.allclose(x[:24], x[24:])
    assert study.calibration[1].tolist() == study.test[1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert not torch.equal(study.calibration[0], study.test[0])
    assert (study.n_known, study.similarity, study.counts["n_select"]) == (3, None, 2)
    network = study.network(3)
    logits = network(x[:5])
    assert logits.shape == (5, 3)
    # Finer by one step, and beyond 6 where the network was bounded.
    assert network.eval().core[1][0].stride == (1, 1)
    assert isinstance(network.core[1][1], torch.nn.ReLU)
