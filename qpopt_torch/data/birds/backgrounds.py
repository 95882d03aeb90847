"""Backgrounds: patches of colour and discs of light, all out of focus."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.data.birds.chance import Draws
from qpopt_torch.data.birds.outlines import Colour

GRID = 6
"""Patches of colour along a side."""
DISCS = 5
"""Bright discs."""
SATURATION, VALUE = 0.28, 0.75
"""Of the middle tone: pale enough for a bird to stand out, on light and on dark pages."""
STRONG_SATURATION = 0.40
"""Where the hue is given."""


def blurred(draws: Draws, size: int, clutter: float, hue: float | None = None) -> NDArray[np.int64]:
    """Return a background, size × size × 3, from 0 to 255.

    Parameters
    ----------
    draws
        Where its chance comes from.
    size
        Height and width.
    clutter
        Its contrast: from 0, one plain colour, to 1.
    hue
        From 0 to 1, red at both ends; without it, any.
    """
    free = draws.share(), SATURATION + draws.between(0.12), VALUE + draws.between(0.12)
    main, saturation, value = free
    if hue is not None:
        # A hue that is meant to tell something must be seen whatever else there is.
        main, saturation, value = hue, STRONG_SATURATION, VALUE
        clutter /= 2
    patches = [
        colour(
            main + 0.08 * clutter * draws.between(1),
            saturation * (1 + 0.5 * clutter * draws.between(1)),
            value * (1 + 0.2 * clutter * draws.between(1)),
        )
        for _ in range(GRID * GRID)
    ]
    weights = _weights(size)
    across = np.tensordot(weights, np.array(patches).reshape(GRID, GRID, 3), axes=(1, 0))
    picture = np.tensordot(across, weights, axes=(1, 1)).transpose(0, 2, 1) >> 20
    place = (2 * np.arange(size) + 1) * 500 // size
    for _ in range(DISCS):
        x, y, radius = draws.below(1000), draws.below(1000), 50 + draws.below(110)
        glow = round(80 * clutter * draws.share())
        square = (place[None, :] - x) ** 2 + (place[:, None] - y) ** 2
        inside = np.clip((radius * radius - square) * 1024 // (radius * radius), 0, 256)
        picture += (255 - picture) * (inside * glow)[:, :, None] >> 16
    return picture


def colour(hue: float, saturation: float, value: float) -> Colour:
    """Return the red, green and blue of a hue, which goes round with 1."""
    saturation, value = min(max(saturation, 0.0), 1.0), min(max(value, 0.0), 1.0)
    channels = []
    for shift in (5, 3, 1):
        k = (shift + 6 * hue) % 6
        channels.append(value * (1 - saturation * max(0.0, min(k, 4 - k, 1.0))))
    red, green, blue = (round(255 * channel) for channel in channels)
    return red, green, blue


def _weights(size: int) -> NDArray[np.int64]:
    """Return pixels × patches: how much every patch counts at a pixel, in 1 / 1024.

    A quadratic B-spline: smooth, and never beyond the colours that it joins.
    """
    # Twice the size is the distance of two patches; the first and the last lie on the edges.
    patch = 2 * size
    place = (2 * np.arange(size) + 1) * (GRID - 1)
    distance = np.abs(place[:, None] - np.arange(GRID)[None, :] * patch)
    near = 2 * (3 * patch * patch - 4 * distance * distance)
    far = np.maximum(3 * patch - 2 * distance, 0) ** 2
    weights = np.where(2 * distance <= patch, near, far) * 128 // (patch * patch)
    scaled: NDArray[np.int64] = weights * 1024 // weights.sum(axis=1, keepdims=True)
    return scaled
