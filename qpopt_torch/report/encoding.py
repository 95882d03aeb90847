"""Pictures and feature maps as text that fits into a page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from qpopt import InvalidArgument
from qpopt_torch.errors import shown
from qpopt_torch.evidence.pictures import Picture, heat_limits, small_maps
from qpopt_torch.explain import Sample

FEW = 64
"""Pictures by which it is guessed how small all must be."""
TINY = 40
"""Images up to this side, in pixels, are stored without loss and shown with sharp pixels."""


@dataclass(frozen=True, kw_only=True)
class PageParams:
    """How the room in a page is spent.

    Parameters
    ----------
    sides, map_sides
        Longest sides of images, in pixels, and of feature maps that are tried until all of them
        fit.
    quality
        Of images that are stored with loss, from 0 to 100.
    series_lines
        Lines of a series that are kept.
    maps_share
        Share of the page's size that feature maps may take.
    page_bytes
        Room for the page itself.
    n_deletion
        With how many samples places are blurred to see which features fall, as in `evaluate`.
    layout
        `file`: one HTML file that needs nothing else; `folder`: a page that loads pictures when it
        shows them, for many classes.
    map_rows
        Classes that the class map draws at once; of more it draws groups, which open.
    """

    sides: tuple[int, ...] = (160, 144, 128, 112, 96, 80, 64, 48, 40)
    map_sides: tuple[int, ...] = (14, 10, 7, 5, 4)
    quality: int = 78
    series_lines: int = 6
    maps_share: float = 0.3
    page_bytes: int = 200_000
    n_deletion: int = 0
    layout: Literal["file", "folder"] = "file"
    map_rows: int = 250

    def __post_init__(self) -> None:
        if self.layout not in ("file", "folder"):
            raise InvalidArgument(f"layout must be 'file' or 'folder', not {shown(self.layout)}.")
        if not isinstance(self.map_rows, int) or self.map_rows < 2:
            raise InvalidArgument(
                f"map_rows must be a whole number above 1, not {shown(self.map_rows)}."
            )


def in_layout(params: Any, layout: Any) -> Any:
    """Return how the room in a page is spent, with a layout other than one file."""
    if layout == "file" or not isinstance(params, PageParams | None):
        return params  # what is no PageParams, the report refuses
    return replace(params or PageParams(), layout=layout)


def encode_images(pictures: Sequence[Picture], budget: int, params: PageParams) -> list[str]:
    """Return data URIs of images, all of them downscaled alike until they fit the budget.

    The budget is in characters. If even the smallest size needs more, it is used.
    """
    sides = list(params.sides)
    if len(pictures) > 2 * FEW:  # a few tell what all would need
        some = pictures[:: len(pictures) // FEW]
        while len(sides) > 1:
            size = sum(len(_data_uri(p.values, sides[0], params.quality)) for p in some)
            if size * len(pictures) / len(some) <= budget:
                break
            sides = sides[1:]
    while True:
        encoded = [_data_uri(p.values, sides[0], params.quality) for p in pictures]
        size = sum(map(len, encoded))
        if size <= budget or len(sides) == 1:
            return encoded
        # Bytes grow with the area, so sizes that cannot be enough need not be tried.
        largest = sides[0] * (max(budget, 0) / size) ** 0.5
        sides = [side for side in sides[1:] if side <= 1.1 * largest] or sides[-1:]


def _data_uri(pixels: NDArray[np.uint8], side: int, quality: int) -> str:
    from PIL import Image, features

    image = Image.fromarray(pixels)
    stream = BytesIO()
    if max(image.size) <= TINY:
        kind = "png"
        image.save(stream, "PNG", optimize=True)
    else:
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        kind = "webp" if features.check("webp") else "jpeg"
        image.save(stream, kind.upper(), quality=quality)
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode()}"


def encode_maps(
    samples: Sequence[Sample], scale: Sequence[Sample], budget: int, params: PageParams
) -> tuple[tuple[int, ...], list[str]]:
    """Encode the feature maps of samples, as finely as the budget of characters allows.

    Returns rows and columns, empty where no map can be shown, and for every sample base64 of
    features × rows × columns bytes; 0 is the median of the feature and 255 near its maximum, over
    the maps of the samples `scale`, averaged down as they are shown: averages spread less.
    """
    kinds = {sample.picture.kind for sample in samples}
    if kinds == {"text"}:
        return (), _word_levels(samples, scale)
    axes = {"image": 2, "series": 1}.get(next(iter(kinds)), 0) if len(kinds) == 1 else 0
    shapes = {sample.maps.shape for sample in samples if sample.maps is not None}
    if not scale or len(shapes) != 1 or len(shape := next(iter(shapes))) != axes + 1:
        return (), []
    for side in params.map_sides:
        grid = [min(side, size) for size in shape[1:]]
        if len(samples) * shape[0] * int(np.prod(grid)) * 4 / 3 <= budget:
            break

    def small(sample: Sample) -> NDArray[np.float16]:
        assert sample.maps is not None
        return small_maps(torch.from_numpy(sample.maps), side)

    limits = heat_limits([small(sample) for sample in scale])
    texts = []
    for sample in samples:
        level = _levels(small(sample), limits)
        texts.append(base64.b64encode(level.tobytes()).decode())
    return (level.shape[1:] if axes == 2 else (1, *level.shape[1:])), texts


def _word_levels(samples: Sequence[Sample], scale: Sequence[Sample]) -> list[str]:
    """Return for every text base64 of features × words bytes; nothing where there are no maps."""
    known = [sample.maps for sample in scale if sample.maps is not None]
    if not known or any(sample.maps is None for sample in samples):
        return []
    limits = heat_limits(known)
    levels = [_levels(s.maps, limits) for s in samples if s.maps is not None]
    return [base64.b64encode(level.tobytes()).decode() for level in levels]


def _levels(maps: NDArray[np.float16], limits: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return maps in 255 steps between the limits of their features."""
    low, high = (limits[:, i].reshape(-1, *[1] * (maps.ndim - 1)) for i in (0, 1))
    share = np.clip((maps.astype(np.float64) - low) / (high - low), 0, 1)
    found: NDArray[np.uint8] = np.rint(255 * share).astype(np.uint8)
    return found


def encode_series(picture: Picture, n_lines: int) -> list[list[float]]:
    """Return the first lines of a series, scaled together to 0 … 1."""
    values: NDArray[Any] = np.nan_to_num(picture.values[:n_lines].astype(np.float64))
    low, high = float(values.min()), float(values.max())
    scaled = (values - low) / (high - low if high > low else 1.0)
    lines: list[list[float]] = np.round(scaled, 3).tolist()
    return lines
