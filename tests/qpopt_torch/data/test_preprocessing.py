from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from qpopt_torch import ModelError, Preprocessing
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.data.preprocessing import preprocessing_of


def noise(path, size=(30, 20)):
    pixels = np.random.default_rng(0).integers(256, size=(*size[::-1], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def test_it_does_what_the_folder_does(tmp_path):
    (tmp_path / "a").mkdir()
    noise(tmp_path / "a" / "1.png")
    folder = ImageFolder(tmp_path, 8, mean=(0.1, 0.2, 0.3))
    made = preprocessing_of(SimpleNamespace(dataset=folder))
    with Image.open(tmp_path / "a" / "1.png") as image:
        assert torch.equal(made(image), folder[0][0])


def test_grey_images():
    made = Preprocessing(4, (0.5,), (0.25,), 1.0)
    image = Image.new("L", (9, 4), 255)
    assert torch.equal(made(image), torch.full((1, 4, 4), 2.0))


def test_transforms_of_torchvision(torchvision):
    steps = torchvision.transforms
    data = SimpleNamespace(
        transform=steps.Compose(
            [
                steps.Resize(10),
                steps.CenterCrop(8),
                steps.ToTensor(),
                steps.Normalize((0.1, 0.2, 0.3), (1, 1, 1)),
            ]
        )
    )
    found = preprocessing_of(SimpleNamespace(dataset=data))
    assert found == Preprocessing(8, (0.1, 0.2, 0.3), (1.0, 1.0, 1.0), 1.25)
    image = Image.new("RGB", (20, 10), (255, 0, 51))
    torch.testing.assert_close(found(image), data.transform(image))


def test_a_loader_that_does_not_tell():
    assert preprocessing_of([]) is None


@pytest.mark.parametrize("values", [(0,), (8, (0.5,), (0.5, 0.5)), (8, (0.5,), (0,)), ("8",)])
def test_what_is_not_possible(values):
    with pytest.raises(ModelError, match="There is no Preprocessing"):
        Preprocessing(*values)
