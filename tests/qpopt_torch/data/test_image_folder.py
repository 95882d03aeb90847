import numpy as np
import pytest
import torch
from PIL import Image

from qpopt_torch import LoaderError
from qpopt_torch.data.image_folder import ImageFolder


def picture(path, colour=(255, 0, 0), size=(20, 10)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def test_classes_and_values(tmp_path):
    picture(tmp_path / "b" / "1.png")
    picture(tmp_path / "a" / "2.PNG", (0, 0, 255), (9, 30))
    (tmp_path / "a" / "notes.txt").write_text("no image")
    folder = ImageFolder(tmp_path, 8, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    assert folder.class_names == ("a", "b")
    assert len(folder) == 2
    image, label = folder[0]
    assert label == 0
    assert image.shape == (3, 8, 8)
    assert image[:, 3, 3].tolist() == [-1.0, -1.0, 1.0]


def test_the_middle_is_cut_out(tmp_path):
    values = np.zeros((10, 30, 3), dtype=np.uint8)
    values[:, 10:20] = 255
    (tmp_path / "a").mkdir()
    Image.fromarray(values).save(tmp_path / "a" / "1.png")
    image, _ = ImageFolder(tmp_path, 10, margin=1.0, mean=(0, 0, 0), std=(1, 1, 1))[0]
    assert (image == 1).all()


def test_augmentation_is_random_and_seeded(tmp_path):
    (tmp_path / "a").mkdir()
    noise = np.random.default_rng(0).integers(256, size=(40, 40, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a" / "1.png")
    folder = ImageFolder(tmp_path, 16, augment=True, cache=True)
    torch.manual_seed(0)
    first, second = folder[0][0], folder[0][0]
    torch.manual_seed(0)
    assert torch.equal(folder[0][0], first)
    assert not torch.equal(first, second)


def test_the_cache_is_used(tmp_path):
    picture(tmp_path / "a" / "1.png")
    folder = ImageFolder(tmp_path, 8, cache=True)
    before = folder[0][0]
    (tmp_path / "a" / "1.png").unlink()
    assert torch.equal(folder[0][0], before)


def test_folders_that_cannot_be_used(tmp_path):
    with pytest.raises(LoaderError, match="is not a folder"):
        ImageFolder(tmp_path / "nothing")
    with pytest.raises(LoaderError, match="holds no folders"):
        ImageFolder(tmp_path)
    (tmp_path / "owl").mkdir()
    with pytest.raises(LoaderError, match="owl holds no images"):
        ImageFolder(tmp_path)
    (tmp_path / "owl" / "1.jpg").write_text("no image")
    with pytest.raises(LoaderError, match=r"Cannot read the image .*1\.jpg"):
        ImageFolder(tmp_path)[0]
