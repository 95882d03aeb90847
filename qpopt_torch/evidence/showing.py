"""How a sample is shown: as a picture, as words, or as a row of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.data.inputs import Inputs, main_of, plain
from qpopt_torch.data.own.table import Table
from qpopt_torch.data.own.text import Texts
from qpopt_torch.errors import LoaderError, shown
from qpopt_torch.evidence.pictures import Picture, ToImage, check_to_image
from qpopt_torch.evidence.words import ToText, main_input

MOST_COLUMNS = 64
"""Columns of a row that are kept, and below which plain numbers are shown as a row."""


ROUNDING = 1e-6
"""Shares of a mean below which a number is 0: samples come in single precision."""


@dataclass(frozen=True, eq=False)
class ToTable:
    """Shows a sample as a row: its columns with their values.

    Parameters
    ----------
    columns
        Names of the columns, in the order of the numbers of a sample.
    mean, std
        By which the numbers were normalised, so that they can be shown as they were.
    """

    columns: tuple[str, ...]
    mean: Any = None
    std: Any = None

    def __call__(self, x: Any) -> tuple[Picture, list[list[int]]]:
        """Return the row of one sample."""
        values = main_input(x).detach().cpu().double().flatten().numpy()
        if len(values) != len(self.columns):
            raise LoaderError(
                f"to_table names {len(self.columns)} columns; a sample has {len(values)} numbers."
            )
        if self.std is not None:
            values = values * np.asarray(self.std, dtype=np.float64).reshape(-1)
        if self.mean is not None:
            mean = np.asarray(self.mean, dtype=np.float64).reshape(-1)
            values = values + mean
            # What was 0 before it was normalised is 0 again, and not what rounding leaves of it.
            values = np.where(np.abs(values) < ROUNDING * np.abs(mean), 0.0, values)
        kept = list(zip(self.columns, values.tolist(), strict=True))[:MOST_COLUMNS]
        row = tuple((name, f"{value:.4g}") for name, value in kept)
        return Picture("table", np.zeros(0), row=row), []


Show = ToImage | ToText | ToTable
"""How a sample is shown."""


def to_text(source: Any) -> ToText:
    """Show samples as their words, in reports and explanations: `show=to_text(tokenizer)`.

    Parameters
    ----------
    source
        A tokenizer of transformers or tokenizers; the tokens by their numbers, as a list or a
        mapping; or a function of a sample that returns its tokens, one for every position and an
        empty one for what is not shown, or simply a text, without strengths.

    Examples
    --------
    >>> import torch
    >>> import qpopt_torch
    >>> shows = qpopt_torch.to_text(["", "small", "bird", "##s", "sing"])
    >>> picture, positions = shows(torch.tensor([1, 2, 3, 4, 0]))
    >>> picture.words, positions
    (('small', 'birds', 'sing'), [[0], [1, 2], [3]])
    """
    known = ("convert_ids_to_tokens", "id_to_token")
    fine = callable(source) or any(hasattr(source, name) for name in known)
    if not fine and not (isinstance(source, Mapping | Sequence) and not isinstance(source, str)):
        raise LoaderError(
            f"to_text takes a tokenizer, tokens by number, or a function, not {shown(source)}."
        )
    return ToText(source)


def to_table(columns: Sequence[str], mean: Any = None, std: Any = None) -> ToTable:
    """Show samples as rows of a table, in reports and explanations: `show=to_table(columns=…)`.

    Parameters
    ----------
    columns
        Names of the columns.
    mean, std
        By which the numbers were normalised, one for every column or one for all.

    Examples
    --------
    >>> import torch
    >>> import qpopt_torch
    >>> shows = qpopt_torch.to_table(columns=["alcohol", "ash"], mean=[13.0, 2.4], std=[0.8, 0.3])
    >>> shows(torch.tensor([1.0, -1.0]))[0].row
    (('alcohol', '13.8'), ('ash', '2.1'))
    """
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not len(columns):
        raise LoaderError(f"columns must be a list of names, not {shown(columns)}.")
    for label, values in (("mean", mean), ("std", std)):
        size = 1 if values is None else np.asarray(values).size
        if size not in (1, len(columns)):
            raise LoaderError(f"{label} holds {size} numbers for {len(columns)} columns.")
    return ToTable(tuple(map(str, columns)), mean, std)


def to_image(
    mean: Sequence[float] | Callable[[Any], Any], std: Sequence[float] | None = None
) -> ToImage:
    """Show samples as pictures, in reports and explanations: `show=to_image(mean, std)`.

    Parameters
    ----------
    mean
        Of the channels, by which pictures were normalised; or a function of a sample that returns
        an image.
    std
        The deviations of the channels.

    Examples
    --------
    >>> import qpopt_torch
    >>> qpopt_torch.to_image([0.5], [0.25])
    ((0.5,), (0.25,))
    """
    if callable(mean):
        return mean
    if std is None:
        raise LoaderError("to_image takes means and deviations of the channels, or a function.")
    return tuple(map(float, mean)), tuple(map(float, std))


def show_of(data: Any) -> Show | None:
    """Return how the samples of a data set are shown, if it is one that knows."""
    if isinstance(data, ImageFolder):
        return data.mean.flatten().tolist(), data.std.flatten().tolist()
    if isinstance(data, Table):
        return ToTable(data.columns, data.mean, data.std)
    return ToText(data.tokens) if isinstance(data, Texts) else None


def checked_show(to_image: Any, show: Any) -> Show | None:
    """Return how samples are shown, of two arguments of which one may be given."""
    if to_image is not None and show is not None:
        raise LoaderError("to_image and show say the same; pass one of them.")
    found: Show | None = to_image if show is None else show
    check_to_image(found)
    return found


def pictured(x: Tensor | Inputs, i: int, show: Show | None, located: bool) -> tuple[Picture, Any]:
    """Return sample `i` of a batch as a person sees it, and of a text where its words are.

    Without `show`, the kind of input decides: whole numbers are tokens, a few numbers without maps
    a row, several numbers a series, and anything larger an image.

    Parameters
    ----------
    x
        The batch.
    i
        The place of the sample.
    show
        How it is shown.
    located
        Whether there are feature maps.
    """
    sample: Any = x[i]
    if isinstance(show, ToText | ToTable):
        return show(plain(sample))
    if callable(show):
        return Picture.of(plain(sample), show), []
    main = main_of(x)[i]
    if not main.is_floating_point() and not main.is_complex() and main.ndim == 1:
        return ToText({})(plain(sample))
    if main.is_floating_point() and main.ndim == 1 and not located and len(main) <= MOST_COLUMNS:
        return ToTable(tuple(f"Input {k + 1}" for k in range(len(main))))(main)
    return Picture.of(main, show), []
