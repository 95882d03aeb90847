"""Preprocessing: from an image to the input of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qpopt_torch.errors import LoaderError, ModelError, shown

if TYPE_CHECKING:
    from PIL.Image import Image

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of the colours of ImageNet, which most trained networks expect."""
MARGIN = 8 / 7
LARGEST = 2**16
"""No image has more pixels along a side."""


@dataclass(frozen=True)
class Preprocessing:
    """How an image becomes the input of a model: its middle, of a fixed size, normalised.

    Parameters
    ----------
    size
        Height and width of the input.
    mean, std
        Of the channels, from 0 to 1; one of each for grey images, three for colours.
    margin
        How much larger than `size` the shorter side is before cutting.
    """

    size: int
    mean: tuple[float, ...] = MEAN
    std: tuple[float, ...] = STD
    margin: float = MARGIN

    def __post_init__(self) -> None:
        lists = isinstance(self.mean, tuple | list) and isinstance(self.std, tuple | list)
        values = (*self.mean, *self.std, self.margin) if lists else ()
        fine = (
            lists
            and type(self.size) is int
            and 1 <= self.size <= LARGEST
            and len(self.mean) == len(self.std)
            and len(self.mean) in (1, 3)
            and all(type(v) in (int, float) and abs(v) <= LARGEST for v in values)
            and min(*self.std, self.margin) > 0
            and self.margin <= LARGEST
        )
        if not fine:
            told = (self.size, self.mean, self.std, self.margin)
            raise ModelError(
                f"There is no Preprocessing with {', '.join(map(shown, told))} as size, mean, std "
                "and margin."
            )

    def __call__(self, image: Image) -> Tensor:
        """Return the input that an image makes, channels × size × size."""
        return self.normalised(self.middle(self.resized(image)))

    def resized(self, image: Image) -> Tensor:
        """Return an image as bytes, channels × height × width, its shorter side with margin."""
        from PIL.Image import Image, Resampling

        if not isinstance(image, Image):
            raise ModelError(f"An image is one of Pillow, not {shown(image)}.")
        picture = image.convert("RGB" if len(self.mean) == 3 else "L")
        scale = max(self.size, round(self.size * self.margin)) / min(picture.size)
        width, height = (max(self.size, round(side * scale)) for side in picture.size)
        pixels = np.array(picture.resize((width, height), Resampling.BILINEAR))
        pixels = pixels.reshape(height, width, -1)
        return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()

    def middle(self, image: Tensor) -> Tensor:
        """Cut out the middle of an image."""
        top, left = ((side - self.size) // 2 for side in image.shape[1:])
        return image[:, top : top + self.size, left : left + self.size]

    def normalised(self, image: Tensor) -> Tensor:
        """Return bytes as the numbers that a model expects."""
        mean, std = (torch.tensor(values).reshape(-1, 1, 1) for values in (self.mean, self.std))
        return (image.float() / 255 - mean) / std

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """Rebuild it from its fields as JSON holds them; ModelError where one is not possible."""
        mean, std = values["mean"], values["std"]
        if not (isinstance(mean, list) and isinstance(std, list)):
            raise ModelError(f"Mean and deviation of the channels are no {mean!r} and {std!r}.")
        return cls(values["size"], tuple(mean), tuple(std), values["margin"])


def preprocessing_of(loader: Iterable[Any]) -> Preprocessing | None:
    """Return what a loader does with images, if its data set tells.

    A data set tells by an attribute `preprocessing`, as an `ImageFolder` does, or by transforms of
    torchvision: a `Normalize`, and a `CenterCrop` or `Resize` to a square.
    """
    data = getattr(loader, "dataset", None)
    known = getattr(data, "preprocessing", None)
    if isinstance(known, Preprocessing):
        return known
    steps = getattr(getattr(data, "transform", None), "transforms", ())
    named = {type(step).__name__: step for step in steps}
    norm: Any = named.get("Normalize")
    cut, resize = (_side(named.get(name)) for name in ("CenterCrop", "Resize"))
    size = cut or resize
    if norm is None or size is None:
        return None
    mean, std = (tuple(float(v) for v in values) for values in (norm.mean, norm.std))
    try:
        return Preprocessing(size, mean, std, 1.0 if cut is None else (resize or cut) / cut)
    except ModelError:  # of other channels than images have
        return None


def _side(step: Any) -> int | None:
    """Return the one side that a transform cuts or resizes to."""
    size = getattr(step, "size", None)
    sides = {int(v) for v in size} if isinstance(size, Sequence) else {size}
    side = sides.pop() if len(sides) == 1 else None
    return side if isinstance(side, int) else None


def opened(path: Any) -> Image:
    """Open an image file; LoaderError if it cannot be read."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as stored:
            stored.load()
            return stored.convert("RGB")
    except (OSError, UnidentifiedImageError) as error:
        raise LoaderError(f"Cannot read the image {path}: {error}.") from error
