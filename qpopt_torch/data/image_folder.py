"""A folder of images with one subfolder for each class, as batches."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import Dataset

from qpopt.io import AnyPath
from qpopt_torch.data.preprocessing import MARGIN, MEAN, STD, Preprocessing, opened
from qpopt_torch.errors import LoaderError

ENDINGS = {".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}


class ImageFolder(Dataset[tuple[Tensor, int]]):
    """Images as normalised tensors, 3 × size × size, with the numbers of their classes.

    Parameters
    ----------
    folder
        Holds one subfolder for each class; the classes are numbered in the order of their names.
    size
        Height and width of the tensors.
    augment
        Whether to cut out a random part and mirror at random, for training; the middle otherwise.
    margin
        How much larger than `size` the shorter side is before cutting.
    mean, std
        Of the colours, from 0 to 1.
    cache
        Whether to keep all images in memory after their first use.

    Raises
    ------
    LoaderError
        If there are no classes, a class has no images, or an image cannot be read.
    """

    def __init__(
        self,
        folder: AnyPath,
        size: int = 224,
        *,
        augment: bool = False,
        margin: float = MARGIN,
        mean: tuple[float, ...] = MEAN,
        std: tuple[float, ...] = STD,
        cache: bool = False,
    ) -> None:
        self.size, self.augment = size, augment
        self.preprocessing = Preprocessing(
            size, tuple(map(float, mean)), tuple(map(float, std)), margin
        )
        self.mean, self.std = (torch.tensor(v).reshape(3, 1, 1) for v in (mean, std))
        root = Path(folder)
        if not root.is_dir():
            raise LoaderError(f"{root} is not a folder; it must hold one folder for each class.")
        folders = sorted(path for path in root.iterdir() if path.is_dir())
        if not folders:
            raise LoaderError(f"{root} holds no folders; it needs one for each class.")
        self.class_names = tuple(path.name for path in folders)
        self.files: list[tuple[Path, int]] = []
        for label, path in enumerate(folders):
            images = sorted(p for p in path.iterdir() if p.suffix.lower() in ENDINGS)
            if not images:
                raise LoaderError(f"The class folder {path} holds no images.")
            self.files += [(image, label) for image in images]
        self.kept: dict[int, Tensor] | None = {} if cache else None

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self._image(index)
        if not self.augment:
            image = self.preprocessing.middle(image)
            return self.preprocessing.normalised(image), self.files[index][1]
        spare = [side - self.size for side in image.shape[1:]]
        top, left = (int(torch.randint(side + 1, ())) for side in spare)
        image = image[:, top : top + self.size, left : left + self.size]
        if torch.rand(()) < 0.5:
            image = image.flip(2)
        return self.preprocessing.normalised(image), self.files[index][1]

    def _image(self, index: int) -> Tensor:
        """Return an image as bytes, 3 × height × width, its shorter side `size` × `margin`."""
        if self.kept is not None and index in self.kept:
            return self.kept[index]
        image = self.preprocessing.resized(opened(self.files[index][0]))
        if self.kept is not None:
            self.kept[index] = image
        return image
