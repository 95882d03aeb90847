"""OwnPictures: what the model says of a picture that a person drops on the page."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qpopt_torch.errors import ModelError, reason
from qpopt_torch.evidence.gather import Evidence, standard_units
from qpopt_torch.evidence.pictures import ToImage
from qpopt_torch.explain import Sample
from qpopt_torch.report.contents import described_decision, drawn
from qpopt_torch.report.encoding import PageParams
from qpopt_torch.sparse.classifier import SparseClassifier

MOST_PIXELS = 40_000_000
PAGE_BYTES = 400_000
"""Room for one picture with its heat maps."""

Preprocess = Callable[[Any], Tensor]
"""Turns a PIL image into the input of the model, without its batch axis."""


class OwnPictures:
    """Decides on pictures, one at a time.

    Parameters
    ----------
    model
        The sparse classifier.
    gallery
        What is usual in its classes, and the range of its heat maps.
    preprocess
        Makes an input of a picture; None where it is not known how.
    grid
        Rows and columns of the heat maps of the page; empty without maps.
    to_image
        Makes a picture of an input.
    """

    def __init__(
        self,
        model: SparseClassifier,
        gallery: Evidence,
        preprocess: Preprocess | None,
        *,
        grid: Sequence[int] = (),
        to_image: ToImage | None = None,
    ) -> None:
        self.model, self.gallery = model, gallery
        self.params = PageParams(map_sides=(max(grid, default=1),))
        self.preprocess, self.to_image = preprocess, to_image
        self.lock = threading.Lock()

    def decide(self, content: bytes) -> dict[str, Any]:
        """Return the decision on the picture in a file, as the page shows it.

        Raises
        ------
        ModelError
            If the file holds no picture, or one that is too large.
        """
        if self.preprocess is None:
            raise ModelError(
                "It is not known how a picture becomes an input of this model; pass preprocess=."
            )
        x = self.preprocess(_opened(content))
        with self.lock, self.model.observe() as seen:
            device = next((p.device for p in self.model.parameters()), torch.device("cpu"))
            batch = x[None].to(device)
            logits = self.model(batch)
            values = standard_units(self.model, seen)
            if not np.isfinite(values).all():
                raise ModelError("The model answers this picture with values that are no numbers.")
            sample = Sample.of(0, int(logits.argmax()), values, batch, seen, self.to_image)
        entry = described_decision(sample, self.gallery)
        return {"entry": entry, **drawn([sample], self.gallery, PAGE_BYTES, self.params)}


def _opened(content: bytes) -> Any:
    """Return the picture in a file in RGB."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():  # what Pillow warns of is refused below
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture = Image.open(BytesIO(content))
        width, height = picture.size
        if width * height > MOST_PIXELS:
            raise ModelError(
                f"The picture has {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} are taken."
            )
        return picture.convert("RGB")
    except UnidentifiedImageError:
        raise ModelError("That is no picture in a format that is known here.") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError(f"The picture cannot be read: {reason(error)}.") from error
