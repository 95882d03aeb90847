"""Sample: what is kept of an input so that it can be shown."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from qpopt_torch.evidence.pictures import Picture, ToImage, small_maps
from qpopt_torch.network.observation import Features


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample that is kept to be shown.

    Parameters
    ----------
    index
        Its place in the loader, counted from 0.
    label, prediction
        Its class and the model's.
    values
        The selected features in standard units: what a class of these features adds up.
    maps
        The feature maps, n_select × positions …, or None.
    picture
        The input.
    """

    index: int
    label: int
    prediction: int
    values: NDArray[np.float64] = field(repr=False)
    maps: NDArray[np.float16] | None = field(repr=False)
    picture: Picture = field(repr=False)

    @classmethod
    def of(
        cls,
        i: int,
        label: int,
        values: NDArray[np.float64],
        x: Tensor,
        seen: Features,
        to_image: ToImage | None,
        first: int = 0,
    ) -> Sample:
        """Keep sample `i` of a batch that begins with sample `first` of the loader."""
        prediction = int(seen.logits[i].argmax())
        maps = None if seen.maps is None else small_maps(seen.maps[i])
        picture = Picture.of(x[i], to_image)
        return cls(first + i, label, prediction, values[i], maps, picture)
