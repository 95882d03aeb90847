"""A studio that is open while the tests of a module run."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from qpopt_torch import collect
from qpopt_torch.studio.api import StudioParams
from qpopt_torch.studio.launch import open_studio
from tests.qpopt_torch.readable import NAMES, small_loader, small_network, small_sparse


def instance():
    statistics = collect(small_network(), small_loader(), class_names=NAMES, progress=False)
    return statistics.instance(6, 2, epsilon=None)


def preprocess(image):
    pixels = np.asarray(image.resize((8, 8)), dtype=np.float32) / 255
    return torch.from_numpy(pixels).permute(2, 0, 1)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    studio = open_studio(
        small_sparse(),
        small_loader(1),
        instance=instance(),
        train_loader=small_loader(2, n_batches=12),
        folder=tmp_path_factory.mktemp("studio"),
        browser=False,
        preprocess=preprocess,
        reading={"progress": False},
        params=StudioParams(prove_seconds=20.0),
    )
    yield studio
    studio.close()
