"""OwnSamples: what the model says of a picture or a text that a person gives the page."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qpopt_torch.data.batches import batches
from qpopt_torch.errors import ModelError, reason
from qpopt_torch.evidence.gather import Evidence, standard_units
from qpopt_torch.evidence.showing import Show
from qpopt_torch.explain import Sample
from qpopt_torch.network.observation import run
from qpopt_torch.report.contents import described_decision, drawn
from qpopt_torch.report.encoding import PageParams
from qpopt_torch.report.levels import DecisionLevels
from qpopt_torch.sparse.classifier import SparseClassifier

MOST_PIXELS = 40_000_000
PAGE_BYTES = 400_000
"""Room for one picture with its heat maps."""

MOST_LETTERS = 20_000

Preprocess = Callable[[Any], Tensor]
"""Turns a PIL image into the input of the model, without its batch axis."""
Tokenize = Callable[[str], Any]
"""Turns a text into a batch of that text alone, labels included, as a loader gives it."""


class OwnSamples:
    """Decides on pictures and texts, one at a time.

    Parameters
    ----------
    model
        The sparse classifier.
    gallery
        What is usual in its classes, and the range of its heat maps.
    preprocess, tokenize
        Make an input of a picture or of a text; None where it is not known how.
    grid
        Rows and columns of the heat maps of the page; empty without maps.
    show
        How an input is shown.
    """

    def __init__(
        self,
        model: SparseClassifier,
        gallery: Evidence,
        preprocess: Preprocess | None,
        *,
        tokenize: Tokenize | None = None,
        grid: Sequence[int] = (),
        show: Show | None = None,
    ) -> None:
        self.model, self.gallery = model, gallery
        self.levels = DecisionLevels(model)
        self.params = PageParams(map_sides=(max(grid, default=1),))
        self.preprocess, self.tokenize, self.show = preprocess, tokenize, show
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
        return self._decided((self.preprocess(_opened(content))[None], torch.zeros(1).long()))

    def decide_text(self, text: Any) -> dict[str, Any]:
        """Return the decision on a text, as the page shows it.

        Raises
        ------
        ModelError
            If it is no text, or the model takes none.
        """
        if self.tokenize is None:
            raise ModelError(
                "It is not known how a text becomes an input of this model; pass tokenize=."
            )
        if not isinstance(text, str) or not text.strip() or len(text) > MOST_LETTERS:
            raise ModelError(f"A text has words, and at most {MOST_LETTERS:,} letters.")
        return self._decided(self.tokenize(text))

    def _decided(self, batch: Any) -> dict[str, Any]:
        """Return the decision on a batch of one sample, as a loader gives it."""
        with self.lock, self.model.observe() as seen:
            ((x, _),) = batches([batch], self.model, progress=False)
            run(self.model, x, 0)
            values = standard_units(self.model, seen)
            if not np.isfinite(values).all():
                raise ModelError("The model answers with values that are no numbers.")
            sample = Sample.of(0, int(seen.logits.argmax()), values, x, seen, self.show)
        entry = {**described_decision(sample, self.gallery), **self.levels.of_decision(sample)}
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
