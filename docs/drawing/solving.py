"""Pictures of how a solve proceeds: a cut, three bounds, a proof over time, and its tree."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

import qpopt
from drawing.problem import A
from drawing.style import Look, bare, save

CROW = A[0]
PER_CLASS = 2
STRUCTURE = {"n_features": 48, "n_classes": 24, "n_select": 12, "n_per_class": 3, "seed": 4}
"""Of the instance that is solved for the pictures."""
SECONDS = 5.0
"""For each bound; the solve gets four times as much."""


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


def draw(folder: Path) -> None:
    """Draw all pictures of the page."""
    instance = qpopt.generate(**STRUCTURE)
    solution = qpopt.solve(instance, time_limit=4 * SECONDS, gap=0.0)
    kinds = ("thresholds", "cliques", "semidefinite")
    found = {kind: qpopt.bound(instance, kind=kind, time_limit=SECONDS) for kind in kinds}
    save(folder, "threshold", _threshold)
    save(folder, "kinds", lambda look: _kinds(look, solution, found))
    save(folder, "proof", lambda look: _proof(look, solution))
    save(folder, "path", _path)


def _threshold(look: Look) -> Any:
    """Draw the gain and two cuts while features 0 and 1 come to features 2 and 3."""
    shares = np.linspace(0, 1, 101)
    ways = np.array([[x, x, 1.0, 1.0] for x in shares])
    figure, axes = plt.subplots(figsize=(5.2, 2.9), layout="constrained")
    for threshold, dash in ((4.0, "--"), (1.0, ":")):
        values = [cut(threshold, way) for way in ways]
        axes.plot(
            shares, values, dash, color=look.second, label=f"cut with threshold {threshold:g}"
        )
    axes.plot(shares, [best_of(way) for way in ways], color=look.first, lw=2.5, label="best two")
    axes.set_xlabel("share of features 0 and 1; 2 and 3 are selected")
    axes.set_ylabel("gain of crow")
    bare(axes)
    axes.legend(frameon=False)
    return figure


def _kinds(look: Look, solution: Any, found: dict[str, qpopt.Bound]) -> Any:
    """Draw how far above the best solution each kind of bound lies."""
    figure, axes = plt.subplots(figsize=(5.2, 1.9), layout="constrained")
    for row, (_kind, one) in enumerate(found.items()):
        above = 100 * (one.value / solution.objective - 1)
        axes.barh(row, above, color=look.second, height=0.55)
        axes.text(above, row, f" {above:.2f} %", va="center", fontsize=9)
    axes.set_yticks(range(len(found)), found)
    axes.set(
        ylim=(len(found) - 0.5, -0.5),
        xlabel=f"percent above the best solution, after {SECONDS:g} s",
    )
    axes.margins(x=0.15)
    bare(axes)
    return figure


def _proof(look: Look, solution: Any) -> Any:
    """Draw objective and bound over time."""
    figure, axes = plt.subplots(figsize=(5.2, 2.7), layout="constrained")
    end = solution.trace[-1].seconds
    for name, colour, label in (
        ("bound", look.second, "proven bound"),
        ("objective", look.first, "best solution"),
    ):
        points = [(p.seconds, getattr(p, name)) for p in solution.trace]
        known = [(t, v) for t, v in points if v is not None and np.isfinite(v)]
        times, values = zip(*known, (end, known[-1][1]), strict=True)
        axes.step(times, values, where="post", color=colour, lw=2, label=label)
    proven = solution.status is qpopt.Status.OPTIMAL
    axes.set(xlabel=f"seconds{'; proven optimal' if proven else ''}", ylabel="Z")
    low = solution.objective
    axes.set_ylim(0.97 * low, 1.06 * low)
    axes.legend(frameon=False)
    bare(axes)
    return figure


def _path(look: Look) -> Any:
    """Draw the way through a solve: what hands what to what."""
    figure, axes = plt.subplots(figsize=(7.2, 2.3), layout="constrained")
    boxes = {
        "search": (0.0, 1, 0.9, look.first),
        "linear\nbound": (1.5, 1, 0.9, look.second),
        "semidefinite\nbound, cuts": (3.2, 1, 1.4, look.second),
        "fixing": (4.9, 1, 0.9, look.second),
        "branching": (6.5, 1, 1.2, look.second),
        "verify": (0.0, 0, 0.9, look.faint),
        "certificate": (4.9, 0, 1.3, look.faint),
    }
    for name, (x, y, width, colour) in boxes.items():
        box = plt.Rectangle((x - width / 2, y - 0.24), width, 0.48, fc="none", ec=colour, lw=1.5)
        axes.add_patch(box)
        axes.text(x, y, name, ha="center", va="center", fontsize=9)
    arrow = {"arrowstyle": "->", "color": look.ink, "shrinkA": 2, "shrinkB": 2}
    row = [box for box in boxes.values() if box[1] == 1]
    for (start, y, before, _), (end, _, after, _) in itertools.pairwise(row):
        axes.annotate("", (end - after / 2, y), (start + before / 2, y), arrowprops=arrow)
    for start, end, name in (
        (0.0, 0.0, "solution"),
        (3.2, 4.5, "multipliers"),
        (6.5, 5.3, "how it branched"),
    ):
        axes.annotate("", (end, 0.24), (start, 0.76), arrowprops=arrow)
        middle = (start + end) / 2
        side = (
            {"ha": "left", "x": middle + 0.12}
            if start >= 5
            else {"ha": "right", "x": middle - 0.3 * (start > 1)}
        )
        axes.text(y=0.5, s=f"{name} ", fontsize=8, va="center", **side)
    axes.set(xlim=(-0.9, 7.2), ylim=(-0.3, 1.3))
    axes.axis("off")
    return figure
