"""Drawing with matplotlib: pictures with heat maps, and bars of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.evidence.pictures import Picture
from qpopt_torch.evidence.sample import Sample

ACCENT, NEUTRAL = "#d9480f", "#9aa5b1"


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

    A map on the grid of the picture has two axes over an image, one along a series; others are not
    drawn. Its heat begins and ends at the limits; at those of the map by default.
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
    if heat is None or np.ndim(heat) != {"image": 2, "series": 1}.get(picture.kind):
        return
    values = np.atleast_2d(np.asarray(heat, dtype=np.float64))
    low, high = limits if limits is not None else (np.median(values), values.max())
    axis.imshow(
        np.clip((values - low) / max(high - low, 1e-12), 0, 1),
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
    shown = plain(label) or f"{sample.values[column]:+.2f}"
    axis.set_xlabel(shown, fontsize=7 if label else 8)


def draw_values(
    axis: Any, names: Sequence[str], values: Sequence[float], title: str, limits: Sequence[float]
) -> None:
    """Draw horizontal bars from 0, with names and numbers, on an axis with the given limits."""
    places = np.arange(len(values))[::-1]
    colours = [ACCENT if value >= 0 else NEUTRAL for value in values]
    bars = axis.barh(places, values, color=colours, height=0.62)
    axis.bar_label(bars, [f"{value:+.2f}" for value in values], padding=3, fontsize=8)
    axis.axvline(0, color=ink(), linewidth=0.8)
    axis.set_yticks(places, [plain(name) for name in names], fontsize=8)
    axis.tick_params(length=0)
    axis.set_xticks([])
    room = 0.3 * (limits[1] - limits[0])
    axis.set_xlim(limits[0] - room, limits[1] + room)
    axis.spines[:].set_visible(False)
    axis.set_title(plain(title), fontsize=9, loc="left")


def plain(text: str) -> str:
    """Return a text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")


def _heat_colours() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "heat", [(0.94, 0.27, 0.04, 0.0), (0.97, 0.42, 0.08, 0.4), (1.0, 0.86, 0.16, 0.65)]
    )
