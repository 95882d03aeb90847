"""What the site draws while it is built: pictures of the text, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

mpl.use("svg")

CROW = np.array([9.0, 5.0, 1.0, 4.0])
"""How much each feature helps the class crow in the worked example."""
PER_CLASS = 2
LOOKS = {"light": ("#222222", "#00796b", "#e64a19"), "dark": ("#dddddd", "#4db6ac", "#ff8a65")}


def on_pre_build(config: Any) -> None:
    """Draw every picture into the folder of the site's sources."""
    folder = Path(config["docs_dir"]) / "pictures"
    folder.mkdir(exist_ok=True)
    for look, colours in LOOKS.items():
        _draw_thresholds(folder / f"threshold-{look}.svg", *colours)


def best_of(selected: Any) -> float:
    """Return what crow gains from features that are selected to a degree: fractions count."""
    left, gain = float(PER_CLASS), 0.0
    for d in np.argsort(-CROW):
        share = min(left, selected[d])
        gain, left = gain + share * CROW[d], left - share
    return gain


def cut(threshold: float, selected: Any) -> float:
    """Return the bound on that gain which a threshold gives."""
    return float(PER_CLASS * threshold + np.maximum(CROW - threshold, 0) @ selected)


def _draw_thresholds(path: Path, ink: str, exact: str, bound: str) -> None:
    """Draw the gain and two cuts while features 0 and 1 come to features 2 and 3."""
    shares = np.linspace(0, 1, 101)
    ways = np.array([[x, x, 1.0, 1.0] for x in shares])
    style = {"axes.edgecolor": ink, "axes.labelcolor": ink, "text.color": ink, "svg.hashsalt": "q"}
    with plt.rc_context({**style, "xtick.color": ink, "ytick.color": ink, "font.size": 10}):
        figure, axes = plt.subplots(figsize=(5.2, 2.9))
        for threshold, dash in ((4.0, "--"), (1.0, ":")):
            values = [cut(threshold, way) for way in ways]
            axes.plot(shares, values, dash, color=bound, label=f"cut with threshold {threshold:g}")
        axes.plot(shares, [best_of(way) for way in ways], color=exact, lw=2.5, label="best two")
        axes.set_xlabel("share of features 0 and 1; 2 and 3 are selected")
        axes.set_ylabel("gain of crow")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, labelcolor=ink)
        figure.tight_layout()
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)
