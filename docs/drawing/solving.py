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
    solution = qpopt.solve(instance, time_limit=20, gap=0.0)
    kinds = ("thresholds", "cliques", "semidefinite")
    found = {kind: qpopt.bound(instance, kind=kind, time_limit=5) for kind in kinds}
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
    axes.set(ylim=(len(found) - 0.5, -0.5), xlabel="percent above the best solution, after 5 s")
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
    axes.set(xlabel="seconds", ylabel="Z")
    low = solution.objective
    axes.set_ylim(0.97 * low, 1.06 * low)
    axes.legend(frameon=False)
    bare(axes)
    return figure


def _path(look: Look) -> Any:
    """Draw the way through a solve: what hands what to what."""
    figure, axes = plt.subplots(figsize=(6.4, 2.5), layout="constrained")
    boxes = {
        "search": (0, 1, look.first),
        "linear bound": (1.35, 1, look.second),
        "semidefinite bound,\nwith cuts": (2.9, 1, look.second),
        "fixing": (4.35, 1, look.second),
        "branching": (5.6, 1, look.second),
        "verify": (1.35, 0, look.faint),
        "certificate": (4.35, 0, look.faint),
    }
    for name, (x, y, colour) in boxes.items():
        box = {"boxstyle": "round,pad=0.4", "fc": "none", "ec": colour, "lw": 1.5}
        axes.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box)
    arrow = {"arrowstyle": "->", "color": look.ink, "shrinkA": 34, "shrinkB": 40}
    row = [place[:2] for name, place in boxes.items() if place[1] == 1]
    for start, end in itertools.pairwise(row):
        axes.annotate("", end, start, arrowprops=arrow)
    down = arrow | {"shrinkA": 16, "shrinkB": 14}
    for start, end in (((0, 1), (1.1, 0)), ((2.9, 1), (4.1, 0)), ((5.6, 1), (4.6, 0))):
        axes.annotate("", end, start, arrowprops=down)
    axes.text(0.25, 0.42, "solution", fontsize=8, ha="right")
    axes.text(3.3, 0.42, "multipliers", fontsize=8, ha="right")
    axes.set(xlim=(-0.6, 6.2), ylim=(-0.4, 1.5))
    axes.axis("off")
    return figure
