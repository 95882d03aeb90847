"""Sample: what is kept of an input so that it can be shown."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.data.inputs import Batch, main_of
from qpopt_torch.evidence.pictures import Picture, small_maps
from qpopt_torch.evidence.showing import Show, pictured
from qpopt_torch.evidence.words import word_maps
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
        The feature maps, n_select × positions …, those of a text by its words; or None.
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
        x: Batch,
        seen: Features,
        show: Show | None,
        first: int = 0,
    ) -> Sample:
        """Keep sample `i` of a batch that begins with sample `first` of the loader."""
        prediction = int(seen.logits[i].argmax())
        picture, places = pictured(x, i, show, seen.maps is not None)
        maps = None
        if seen.maps is not None and picture.kind == "text":
            places = places[: len(picture.words)]
            maps = word_maps(seen.maps[i], places, len(main_of(x)[i])) if places else None
        elif seen.maps is not None:
            maps = small_maps(seen.maps[i])
        return cls(first + i, label, prediction, values[i], maps, picture)


def columns_in(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return where a mask of features is true."""
    return tuple(np.flatnonzero(mask).tolist())
