"""Pictures of the worked example: what each class would like, and what each selection is worth."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

import qpopt
from drawing.style import Look, bare, save

A = np.array([[9.0, 5, 1, 4], [8, 6, 2, 3], [1, 2, 7, 6]])
"""How much each feature helps crow, raven and gull."""
CLASSES = ("crow", "raven", "gull")
PENALTY = 2.0
"""Redundancy of features 0 and 1."""


def instance() -> qpopt.Instance:
    """Return the worked example."""
    R = np.zeros((4, 4))
    R[0, 1] = R[1, 0] = PENALTY
    return qpopt.Instance(A, R, np.zeros(4), n_select=3, n_per_class=2)


def worth(selection: tuple[int, ...]) -> tuple[float, float, float]:
    """Return of a selection: every class its best, with distinct sets, and less redundancy."""
    left = sorted(set(range(4)) - set(selection))
    plain = sum(np.sort(row[list(selection)])[-2:].sum() for row in A)
    fixed = qpopt.Instance(A, instance().R, np.zeros(4), 3, 2, exclude=left)
    best = qpopt.solve(fixed).objective
    penalty = PENALTY * (0 in selection and 1 in selection)
    return float(plain), best + penalty, best


def draw(folder: Path) -> None:
    """Draw all pictures of the page."""
    solution = qpopt.solve(instance())
    save(folder, "assignment", lambda look: _assignment(look, solution))
    save(folder, "selections", _selections)


def _assignment(look: Look, solution: Any) -> Any:
    """Draw A as squares, and what the best solution takes of it."""
    figure, axes = plt.subplots(figsize=(4.6, 2.9), layout="constrained")
    taken = solution.class_sets()
    for c, d in np.ndindex(A.shape):
        size = 0.9 * np.sqrt(A[c, d] / A.max())
        mine = d in taken[c]
        corner = (d - size / 2, c - size / 2)
        fill = look.first if mine else "none"
        axes.add_patch(plt.Rectangle(corner, size, size, fc=fill, ec=look.first, lw=1.2))
        on_top = {"color": look.paper, "weight": "bold"} if mine else {"color": look.ink}
        axes.text(d, c, f"{A[c, d]:g}", ha="center", va="center", fontsize=9, **on_top)
    selected = set(solution.selection.tolist())
    names = [f"{d}" if d in selected else f"{d}\nnot selected" for d in range(4)]
    axes.set(xlim=(-0.6, 3.6), ylim=(2.6, -0.6), aspect="equal")
    axes.set_xticks(range(4), names)
    axes.set_yticks(range(3), CLASSES)
    axes.set_xlabel("feature")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def _selections(look: Look) -> Any:
    """Draw what each of the four selections is worth, and what it loses on the way."""
    figure, axes = plt.subplots(figsize=(5.2, 2.6), layout="constrained")
    choices = list(combinations(range(4), 3))
    for row, selection in enumerate(choices):
        plain, distinct, z = worth(selection)
        axes.barh(row, z, color=look.first, height=0.6)
        axes.barh(row, distinct - z, left=z, color=look.second, height=0.6)
        axes.barh(row, plain - distinct, left=distinct, color=look.faint, height=0.6)
        axes.text(plain + 0.2, row, f"Z = {z:g}", va="center", fontsize=9)
    axes.set(
        xlim=(24, 40), ylim=(3.6, -0.6), xlabel="worth of the selection (the axis begins at 24)"
    )
    axes.set_yticks(range(4), [", ".join(map(str, s)) for s in choices])
    names = ("Z", "redundancy", "sets must differ")
    colours = (look.first, look.second, look.faint)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in colours]
    axes.legend(
        handles, names, frameon=False, ncols=3, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1)
    )
    bare(axes)
    return figure
