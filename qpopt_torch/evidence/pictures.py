"""Turning the inputs of a model back into something that a person can look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from qpopt import InvalidArgument
from qpopt_torch.errors import LoaderError, shown

PICTURE_SIDE = 192
"""Longest side of a kept image, in pixels."""
MAP_SIDE = 28
"""Longest side of a kept feature map."""
SERIES_LENGTH = 240
"""Points kept of a series."""

ToImage = Callable[[Tensor], Any] | tuple[Sequence[float], Sequence[float]]
"""A function of one input that returns an image, or the mean and deviation of the channels."""


def check_to_image(to_image: Any) -> None:
    """Raise unless this is what makes an image of an input."""
    pair = isinstance(to_image, tuple | list) and len(to_image) == 2
    if not (to_image is None or callable(to_image) or pair):
        raise InvalidArgument(
            "to_image must be a function, or the mean and deviation of the channels, not "
            f"{shown(to_image)}."
        )


@dataclass(frozen=True, eq=False)
class Picture:
    """One input as a person sees it.

    Parameters
    ----------
    kind
        `image`, `series` (lines over a common axis), `text`, `table` or `none`.
    values
        uint8, height × width × 3 for an image; float, channels × length for a series.
    words
        Those of a text.
    row
        Columns and values of a row of a table.
    """

    kind: Literal["image", "series", "text", "table", "none"]
    values: NDArray[Any] = field(repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)
    row: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, x: Tensor, to_image: ToImage | None = None) -> Picture:
        """Return the picture of one input, without its batch axis.

        Inputs of shape channels × height × width are images, of volumes and films the mean over
        their depth, those with fewer axes are series, and anything else has no picture. Without
        `to_image`, the range of every image is stretched to that of the screen.
        """
        if callable(to_image):
            on_cpu = x.detach().cpu() if isinstance(x, Tensor) else x
            shown = on_cpu.float() if isinstance(x, Tensor) and x.is_floating_point() else on_cpu
            return cls("image", _small(_pixels(to_image(shown))))
        x = x.detach().cpu()
        x = x.float() if x.is_floating_point() else x
        if x.ndim == 4:
            # Channels come first in a volume, and after the time in a film.
            x = x.mean(0 if x.shape[0] not in (1, 3) and x.shape[1] in (1, 3) else 1)
        if not x.is_floating_point() or x.ndim not in (1, 2, 3) or 0 in x.shape:
            return cls("none", np.zeros(0))
        if x.ndim < 3:
            lines = x.reshape(-1, x.shape[-1])
            return cls("series", _shorter(lines).numpy())
        if to_image is not None:
            mean, std = _of_channels(to_image)
            if {len(mean), len(std)} - {1, len(x)}:
                raise LoaderError(
                    f"to_image has {len(mean)} means and {len(std)} deviations; the inputs have "
                    f"{len(x)} channels."
                )
            picture = (x * std + mean).clamp(0, 1)
        else:
            picture = torch.nan_to_num(x)
            low, high = picture.min(), picture.max()
            picture = (picture - low) / (high - low if high > low else 1.0)
        if len(picture) != 3:
            # What is neither grey nor colour is shown by the mean of its channels.
            picture = picture.mean(0, keepdim=True).expand(3, -1, -1)
        return cls("image", _small(_pixels(picture.permute(1, 2, 0).numpy())))


def small_maps(maps: Tensor, side: int = MAP_SIDE) -> NDArray[np.float16]:
    """Return feature maps, features × positions …, averaged down to at most `side` an axis."""
    maps = maps.detach().float().cpu()
    maps = maps.mean(1) if maps.ndim == 4 else maps
    goal = [min(side, size) for size in maps.shape[1:]]
    if goal != list(maps.shape[1:]) and len(goal) in (1, 2):
        pool = F.adaptive_avg_pool1d if len(goal) == 1 else F.adaptive_avg_pool2d
        maps = pool(maps, goal)  # type: ignore[arg-type]
    return maps.clamp(-6e4, 6e4).where(maps != -torch.inf, -torch.inf).half().numpy()


def heat_limits(maps: Sequence[NDArray[np.float16]]) -> NDArray[np.float64]:
    """Return medians and near maxima of features over some maps: where heat begins and ends."""
    flat = np.concatenate([m.reshape(len(m), -1) for m in maps], axis=1).astype(np.float64)
    # Positions that are not there hold −inf, for all features alike.
    flat = flat[:, np.isfinite(flat).all(axis=0)]
    if not flat.shape[1]:
        return np.tile([0.0, 1.0], (len(flat), 1))
    low, high = np.quantile(flat, 0.5, axis=1), np.quantile(flat, 0.998, axis=1)
    return np.stack([low, np.maximum(high, low + 1e-9)], axis=1)


def _pixels(image: Any) -> NDArray[np.uint8]:
    """Return an array or a PIL image as uint8, height × width × 3."""
    values = np.asarray(image)
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or values.shape[2] not in (1, 3, 4):
        raise LoaderError(
            f"to_image returned the shape {values.shape}; an image is height × width, or height × "
            "width × 1, 3 or 4."
        )
    if values.dtype.kind == "f":
        values = np.rint(255 * np.clip(np.nan_to_num(values), 0, 1))
    values = values[:, :, :3].astype(np.uint8)
    return np.repeat(values, 3, axis=2) if values.shape[2] == 1 else values


def _small(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if max(pixels.shape) <= PICTURE_SIDE:
        return pixels
    from PIL import Image

    image = Image.fromarray(pixels)
    image.thumbnail((PICTURE_SIDE, PICTURE_SIDE), Image.Resampling.LANCZOS, reducing_gap=None)
    return np.asarray(image)


def _shorter(lines: Tensor) -> Tensor:
    if lines.shape[1] <= SERIES_LENGTH:
        return lines
    return F.interpolate(lines[None], SERIES_LENGTH, mode="linear", align_corners=True)[0]


def _of_channels(to_image: Any) -> tuple[Tensor, Tensor]:
    """Return mean and deviation of the channels, each with axes for the positions."""
    try:
        mean, std = (torch.as_tensor(v).float().reshape(-1, 1, 1) for v in to_image)
    except (TypeError, ValueError, RuntimeError):
        raise LoaderError(
            f"to_image must hold the mean and deviation of the channels, not {shown(to_image)}."
        ) from None
    return mean, std
