"""Pictures of demands: the same small instance, each time with one thing more that is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

import qpopt
from drawing.style import Look, save

CLASSES = ("crow", "raven", "gull", "tern", "finch", "owl")
A = np.array(
    [
        [9.0, 8, 2, 5, 1, 3, 4],
        [9, 7, 3, 6, 2, 1, 4],
        [2, 3, 9, 7, 6, 1, 5],
        [1, 2, 8, 7, 7, 3, 4],
        [3, 1, 6, 8, 2, 7, 5],
        [7, 2, 1, 8, 4, 6, 5],
    ]
)
"""How much each of seven features helps each of six classes."""
N_SELECT, N_PER_CLASS = 5, 3
DEMANDS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "exclude=[0]": {"exclude": [0]},
    "forbidden=[(0, 0)]": {"forbidden": [(0, 0)]},
    "required=[(5, 2)]": {"required": [(5, 2)]},
    "classes_per_feature=(3, 4)": {"classes_per_feature": (3, 4)},
    "pairs=[(2, 3), (1, 4)]": {"pairs": [(2, 3), (1, 4)]},
    "budget=(2, 2, 4, 4, 3, 3)": {"budget": (2, 2, 4, 4, 3, 3)},
    "negative=(1, 2.0)": {"negative": (1, 2.0)},
}
"""What is asked for, as it is written and as it is given."""


def instance(**demands: Any) -> qpopt.Instance:
    """Return the instance of the page, with demands."""
    centred = A - 4.5 if "negative" in demands else A
    nothing = np.zeros((7, 7)), np.zeros(7)
    return qpopt.Instance(centred, *nothing, N_SELECT, N_PER_CLASS, **demands)


def draw(folder: Path) -> None:
    """Draw all pictures of the page."""
    solved = {}
    for name, demands in DEMANDS.items():
        asked = instance(**demands)
        solved[name] = qpopt.solve(asked, method="compact", time_limit=60)
    save(folder, "demands", lambda look: _grid(look, solved))


def _grid(look: Look, solved: dict[str, qpopt.Solution]) -> Any:
    """Draw the assignment of every solution, what changed against the first in another colour."""
    figure, axes = plt.subplots(4, 2, figsize=(5.8, 9.6), layout="constrained", sharey=True)
    first = _uses(solved["nothing"])
    for axis, (name, solution) in zip(axes.flat, solved.items(), strict=True):
        uses = _uses(solution)
        for c, d in np.ndindex(uses.shape):
            new = uses[c, d] != first[c, d] and uses[c, d] != 0
            colour = look.second if new else look.first
            box = {"fc": colour if uses[c, d] > 0 else "none", "ec": look.faint, "lw": 0.6}
            if uses[c, d] < 0:
                box |= {"ec": colour, "lw": 1.6}
            axis.add_patch(plt.Rectangle((d - 0.42, c - 0.42), 0.84, 0.84, **box))
            if uses[c, d] < 0:
                axis.text(d, c, "−", ha="center", va="center", color=colour, weight="bold")
        axis.set(xlim=(-0.6, 6.6), ylim=(5.6, -0.6), aspect="equal")
        axis.set_title(name, fontsize=9)
        axis.set_xticks(range(7))
        axis.set_yticks(range(6), CLASSES)
        axis.tick_params(length=0, labelsize=8)
        axis.spines[:].set_visible(False)
    return figure


def _uses(solution: qpopt.Solution) -> Any:
    """Return 1, 0 or −1 for every class and feature."""
    found = np.zeros(A.shape, dtype=int)
    found[:, solution.selection] = solution.assignment
    return found
