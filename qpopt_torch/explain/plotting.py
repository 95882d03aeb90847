"""Drawing with matplotlib: pictures with heat maps, and bars of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.evidence.pictures import Picture
from qpopt_torch.evidence.sample import Sample

ACCENT, NEUTRAL = "#d9480f", "#9aa5b1"
LINE, LINES = 34, 14
"""Letters of a line of text beside a bar, and lines."""


def ink() -> Any:
    """Return the colour of text, which a dark style makes light."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


def subplots(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Any, Any]:
    """Return a figure and a 2-D array of axes; `width` and `height` are those of one axis."""
    import matplotlib.pyplot as plt

    size = (max(4.0, n_columns * width), max(2.0, n_rows * height))
    return plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")


def draw_picture(
    axis: Any,
    picture: Picture,
    heat: NDArray[Any] | None = None,
    limits: Sequence[float] | NDArray[np.float64] | None = None,
) -> None:
    """Draw an input and, over it, a feature map.

    A map on the grid of the picture has two axes over an image, one along a series or the words of
    a text; others are not drawn. Its heat begins and ends at the limits; at those of the map by
    default.
    """
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
    extent: tuple[float, float, float, float] | None = None
    if picture.kind == "image":
        height, width = picture.values.shape[:2]
        extent = (0, width, height, 0)
        axis.imshow(picture.values, extent=extent, interpolation="nearest")
    elif picture.kind == "series":
        for line in picture.values:
            axis.plot(np.linspace(0, 1, len(line)), line, color=ink(), linewidth=1)
        axis.margins(0, 0.08)
        extent = (0, 1, *axis.get_ylim())
    elif picture.kind == "text":
        _write_words(axis, picture.words, heat, limits)
        return
    elif picture.kind == "table":
        _write_row(axis, picture.row)
        return
    if heat is None or np.ndim(heat) != {"image": 2, "series": 1}.get(picture.kind):
        return
    axis.imshow(
        _share(np.atleast_2d(np.asarray(heat, dtype=np.float64)), limits),
        cmap=_heat_colours(),
        vmin=0,
        vmax=1,
        extent=extent,
        interpolation="bilinear",
        aspect="equal" if picture.kind == "image" else "auto",
        zorder=2,
    )


def draw_feature(
    axis: Any, sample: Sample, limits: NDArray[np.float64] | None, column: int, label: str = ""
) -> None:
    """Draw a sample, the map of one feature if it has any, and below a label or the value."""
    heat = None if sample.maps is None else sample.maps[column]
    draw_picture(axis, sample.picture, heat, None if limits is None else limits[column])
    shown = plain(label) or number(sample.values[column])
    axis.set_xlabel(shown, fontsize=7 if label else 8)


def draw_values(
    axis: Any, names: Sequence[str], values: Sequence[float], title: str, limits: Sequence[float]
) -> None:
    """Draw horizontal bars from 0, with names and numbers, on an axis with the given limits."""
    places = np.arange(len(values))[::-1]
    colours = [ACCENT if value >= 0 else NEUTRAL for value in values]
    axis.barh(places, values, color=colours, height=0.62)
    behind: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
    for place, value in zip(places, values, strict=True):
        # Right of the line where a bar goes left: there it would stand on the names.
        axis.annotate(number(value), (max(0.0, value), place), fontsize=8, **behind)
    axis.axvline(0, color=ink(), linewidth=0.8)
    axis.set_yticks(places, [plain(name) for name in names], fontsize=8)
    axis.tick_params(length=0)
    axis.set_xticks([])
    axis.set_xlim(limits[0], limits[1] + 0.5 * (limits[1] - limits[0]))
    axis.spines[:].set_visible(False)
    axis.set_title(plain(title), fontsize=9, loc="left")


def _share(
    values: NDArray[np.float64], limits: Sequence[float] | NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return values from 0, where heat begins, to 1; 0 where there is nothing."""
    known = values[np.isfinite(values)]
    if limits is None:
        limits = (float(np.median(known)), float(known.max())) if known.size else (0.0, 1.0)
    share: NDArray[np.float64] = np.clip(
        (values - limits[0]) / max(limits[1] - limits[0], 1e-12), 0, 1
    )
    return share


def _write_words(
    axis: Any,
    words: Sequence[str],
    heat: NDArray[Any] | None,
    limits: Sequence[float] | NDArray[np.float64] | None,
) -> None:
    """Write words in lines, the strength of a feature behind each."""
    levels = np.zeros(len(words))
    if heat is not None and np.ndim(heat) == 1:
        levels[: len(heat)] = _share(np.asarray(heat, dtype=np.float64), limits)
    colours, line, column = _heat_colours(), 0, 0
    axis.set_xlim(0, LINE)
    axis.set_ylim(LINES - 0.5, -0.5)
    for word, level in zip(words, levels, strict=True):
        if column and column + len(word) > LINE:
            line, column = line + 1, 0
        if line >= LINES:
            break
        behind = {"facecolor": colours(level), "edgecolor": "none", "pad": 0.6}
        box = behind if level > 0.03 else None
        style: dict[str, Any] = {"family": "monospace", "fontsize": 5, "va": "center"}
        axis.text(column, line, plain(word), bbox=box, **style)
        column += len(word) + 1


def _write_row(axis: Any, row: Sequence[tuple[str, str]]) -> None:
    """Write the first columns of a row, one in a line."""
    axis.set_xlim(0, LINE)
    axis.set_ylim(LINES - 0.5, -0.5)
    for line, (name, value) in enumerate(row[:LINES]):
        style: dict[str, Any] = {"fontsize": 5, "va": "center"}
        axis.text(0, line, plain(name, 20), **style)
        axis.text(LINE, line, plain(value), ha="right", **style)


def short(text: str, most: int) -> str:
    """Return a text of so many letters at most."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def number(value: float) -> str:
    """Return a value with its sign, as the report writes it."""
    return f"{value:+.2f}".replace("-", "−")


def plain(text: str, most: int | None = None) -> str:
    """Return a text, of so many letters at most, that matplotlib does not take for a formula."""
    return (text if most is None else short(text, most)).replace("$", r"\$")


def _heat_colours() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "heat", [(0.94, 0.27, 0.04, 0.0), (0.97, 0.42, 0.08, 0.4), (1.0, 0.86, 0.16, 0.65)]
    )
