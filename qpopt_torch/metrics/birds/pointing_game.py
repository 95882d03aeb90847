"""Whether features look at their part: the pointing game, with exact masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qpopt_torch.errors import LoaderError


@dataclass(frozen=True)
class Pointing:
    """How often the maximum of a feature map lies on its part.

    Parameters
    ----------
    hits
        The share of maps whose maximum lies on the part, in percent.
    chance
        What any position of the same maps would give, in percent.
    n_maps
        How many maps were looked at: those whose part is to be seen.
    """

    hits: float
    chance: float
    n_maps: int


def pointing(maps: ArrayLike, masks: ArrayLike) -> Pointing:
    """Play the pointing game with exact masks.

    A position of a map stands for a block of pixels, and lies on the part if the block shows
    anything of it. Of several maxima the first counts.

    Parameters
    ----------
    maps
        One map for each case: cases × height × width.
    masks
        Where the part is that the map should show: cases × height × width of the picture, no
        smaller than the maps. Cases whose mask is empty are left out.

    Raises
    ------
    LoaderError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from qpopt_torch.metrics import pointing
    >>> mask = np.zeros((1, 8, 8))
    >>> mask[0, :4, :4] = 1  # the part is in the upper left quarter
    >>> pointing([[[3.0, 1.0], [0.0, 2.0]]], mask)
    Pointing(hits=100.0, chance=25.0, n_maps=1)
    """
    values, shown = np.asarray(maps, dtype=np.float64), np.asarray(masks).astype(bool)
    fits = values.ndim == 3 and shown.ndim == 3 and len(values) == len(shown)
    if not fits or (np.array(shown.shape) < values.shape).any():
        raise LoaderError(
            f"The maps have the shape {values.shape} and the masks {shown.shape}; both need one "
            "for each case, and masks must not be smaller than maps."
        )
    rows, columns = (_blocks(shown.shape[axis], values.shape[axis]) for axis in (1, 2))
    on_part = np.stack([shown[:, r, c].any(axis=(1, 2)) for r in rows for c in columns], axis=1)
    seen = on_part.any(axis=1)
    if not seen.any():
        return Pointing(float("nan"), float("nan"), 0)
    places = values[seen].reshape(int(seen.sum()), -1).argmax(axis=1)
    hits = on_part[seen][np.arange(len(places)), places]
    chance = float(on_part[seen].mean())
    return Pointing(100.0 * float(hits.mean()), 100.0 * chance, len(places))


def _blocks(n_pixels: int, n_positions: int) -> list[slice]:
    """Return which pixels along a side every position of a map stands for, shared ones in both."""
    edges = [(k * n_pixels, (k + 1) * n_pixels) for k in range(n_positions)]
    return [slice(a // n_positions, -(-b // n_positions)) for a, b in edges]
