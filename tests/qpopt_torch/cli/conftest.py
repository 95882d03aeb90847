"""One folder of images and one model made from it, which the commands share."""

import numpy as np
import pytest
from PIL import Image
from torch import nn

from qpopt_torch.cli.app import main
from tests.qpopt_torch.small import cnn

NETWORK = "tests.qpopt_torch.cli.conftest:network"


def network(num_classes: int) -> nn.Module:
    return cnn(n_features=6, n_classes=num_classes)


def write_images(folder):
    """Three classes of small images that differ in their colour."""
    rng = np.random.default_rng(0)
    for part, n in (("train", 8), ("test", 4)):
        for c, name in enumerate(("red", "green", "blue")):
            place = folder / part / name
            place.mkdir(parents=True)
            for i in range(n):
                pixels = rng.integers(80, size=(16, 16, 3), dtype=np.uint8)
                pixels[..., c] += 120
                Image.fromarray(pixels).save(place / f"{i}.png")
    return folder


def arguments(data, out, *more):
    fixed = ["--n-select", "4", "--n-per-class", "2", "--size", "12", "--batch-size", "8"]
    places = ["--model", NETWORK, "--data", str(data), "--out", str(out)]
    return ["sparsify", *places, *fixed, "--quiet", "--time-limit", "5", *more]


@pytest.fixture
def data(tmp_path):
    return write_images(tmp_path / "data")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The images, and the folder of a model of them with a report."""
    place = tmp_path_factory.mktemp("commands")
    images = write_images(place / "images")
    more = [
        "--dense-epochs",
        "2",
        "--epochs",
        "2",
        "--lr",
        "0.001",
        "--mean",
        "0.5",
        "--std",
        "0.5",
    ]
    assert main(arguments(images, place / "model", *more)) == 0
    return images, place / "model"
