"""How pictures look: transparent, in the colours of a light and of a dark page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot as plt


class Look(NamedTuple):
    """Colours of one kind of page."""

    ink: str
    first: str
    second: str
    faint: str
    paper: str


LOOKS = {
    "light": Look("#222222", "#00796b", "#e64a19", "#9aa5b1", "#ffffff"),
    "dark": Look("#dddddd", "#4db6ac", "#ff8a65", "#66707c", "#1e2129"),
}


def save(folder: Path, name: str, draw: Callable[[Look], Any], kind: str = "svg") -> None:
    """Draw a picture in both looks."""
    for key, look in LOOKS.items():
        style = dict.fromkeys(
            ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"),
            look.ink,
        )
        with plt.rc_context({**style, "svg.hashsalt": "q", "font.size": 10}):
            figure = draw(look)
            metadata = {"Date": None} if kind == "svg" else None
            path = folder / f"{name}-{key}.{kind}"
            figure.savefig(path, transparent=True, metadata=metadata, dpi=100)
            plt.close(figure)


def bare(axes: Any) -> None:
    """Leave out the frame but for the axes that are read."""
    axes.spines[["top", "right"]].set_visible(False)
