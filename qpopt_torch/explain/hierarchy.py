"""Hierarchy: a decision from general to specific, feature by feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.evidence.names import Names
from qpopt_torch.evidence.sample import Sample
from qpopt_torch.explain.plotting import ACCENT, NEUTRAL, ink, plain
from qpopt_torch.sparse.sets.depths import Depths
from qpopt_torch.sparse.sets.level_shares import LevelShares

ROWS = 24
"""Rows of a tree that are drawn, at most."""
NAMED = 6
"""Classes that a sentence names, at most."""


@dataclass(frozen=True)
class Level:
    """A level of an explanation: what is left once one more feature is known.

    Parameters
    ----------
    number
        0 where nothing is known yet; the last one is the prediction alone.
    column
        The feature that opens it, as a column of the selection; None at level 0 and where the
        feature is not active, since it then is no evidence.
    value
        What that feature adds; None without one.
    classes
        The classes that are possible, the largest sum first.
    holds
        How often this level held the true class of calibration samples, and the exact 95 %
        interval; None if it was not measured.
    """

    number: int
    column: int | None
    value: float | None
    classes: tuple[int, ...]
    holds: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Node:
    """The classes that begin with the same features, in the order in which these are active.

    Parameters
    ----------
    column, value
        The last of these features and what it adds; None at the root, where there is none.
    classes
        All classes that have them.
    children
        How these go on, the most active feature first. A class ends where it has nothing active
        left.
    """

    column: int | None
    value: float | None
    classes: tuple[int, ...]
    children: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The levels of one decision, and the tree of what is active in all classes.

    Parameters
    ----------
    levels
        From all classes to the predicted one.
    tree
        The classes by their active features.
    local
        The same for those classes alone whose most active feature is that of the predicted one.
    n_samples
        How many samples say how often the levels hold; 0 if these were not calibrated.
    """

    levels: tuple[Level, ...]
    tree: Node
    local: Node
    n_samples: int = 0

    def to_dict(self, names: Names) -> dict[str, Any]:
        """Return levels and tree as values that JSON can hold."""
        return {
            "levels": [
                {
                    "level": level.number,
                    "feature": None if level.column is None else names.selection[level.column],
                    "name": None if level.column is None else names.features[level.column],
                    "activation": level.value,
                    "classes": [names.classes[c] for c in level.classes],
                    "holds": None if level.holds is None else level.holds[0],
                    "interval": None if level.holds is None else list(level.holds[1:]),
                }
                for level in self.levels
            ],
            "tree": _as_dict(self.tree, names),
        }

    def lines(self, names: Names) -> list[str]:
        """Say what every level leaves, and how often it holds the true class."""
        return [_said(level, names) for level in self.levels[1:]] + (
            [] if self.n_samples else ["How often the levels hold the true class: not calibrated."]
        )

    def draw(self, row: Any, names: Names) -> None:
        """Draw the classes with the same most active feature as a tree, over a row of axes."""
        axis = row[0]
        axis.set_subplotspec(axis.get_gridspec()[-1, :])
        for each in row:
            each.axis("off")
        rows = list(_rows(self.local, names))
        winner = self.levels[-1].classes[0]
        for place, one in enumerate(rows[:ROWS]):
            if one.parent is not None:
                corner = one.depth - 1
                ends = [corner, corner, one.depth - 0.1], [-one.parent - 0.3, -place, -place]
                axis.plot(*ends, color=NEUTRAL, linewidth=1)
            colour = ACCENT if winner in one.ending else ink()
            axis.text(one.depth, -place, plain(one.text), va="center", fontsize=8, color=colour)
        shown = min(len(rows), ROWS)
        if len(rows) > shown:
            axis.text(0, -shown, f"and {len(rows) - shown} more rows", fontsize=8, color=ink())
        axis.set_xlim(-0.2, max(one.depth for one in rows) + 4)
        axis.set_ylim(-shown - 0.5, 0.8)
        axis.set_title("Classes with the same most active feature", fontsize=9, loc="left")


@dataclass(frozen=True)
class _Row:
    """A row of a drawn tree: its depth, the row of its parent, and the classes that end in it."""

    depth: int
    parent: int | None
    text: str
    ending: tuple[int, ...]


def hierarchy_of(
    sample: Sample,
    assignment: NDArray[Any],
    shares: LevelShares | None = None,
    logits: NDArray[np.float64] | None = None,
) -> Hierarchy:
    """Return the levels of a decision on a sample whose features are known.

    Parameters
    ----------
    sample
        The sample.
    assignment
        Classes × features.
    shares
        How often levels hold the true class, if that was measured.
    logits
        Those of the classes, where they are more than sums.
    """
    depths = Depths.of([sample.values], assignment, [sample.prediction])
    c = sample.prediction
    by_sum = np.argsort(-(assignment @ sample.values if logits is None else logits), kind="stable")
    levels = []
    for number in range(depths.n_levels + 1):
        still = depths.possible(number)[0]
        classes = (c, *(int(other) for other in by_sum if still[other] and other != c))
        opened = 1 <= number <= int(depths.active[0])
        column = int(depths.order[0, c, number - 1]) if opened else None
        value = float(depths.values[0, c, number - 1]) if opened else None
        holds = None if shares is None else (shares.shares[number], *shares.interval(number))
        levels.append(Level(number, column, value, classes, holds))
    n_samples = 0 if shares is None else shares.n_samples
    local = np.flatnonzero(depths.shared[0] >= 1).tolist()
    every = list(range(len(assignment)))
    return Hierarchy(tuple(levels), _tree(depths, every), _tree(depths, local), n_samples)


def _tree(
    depths: Depths, classes: list[int], depth: int = 0, at: tuple[int, float] | None = None
) -> Node:
    """Return the node of some classes that agree on their first features."""
    order, values = depths.order[0], depths.values[0]
    ways: dict[int, list[int]] = {}
    for c in classes:
        if depth < depths.n_levels and values[c, depth] > 0:
            ways.setdefault(int(order[c, depth]), []).append(c)
    nexts = [
        (column, float(values[members[0], depth]), members) for column, members in ways.items()
    ]
    children = tuple(
        _tree(depths, members, depth + 1, (column, value))
        for column, value, members in sorted(nexts, key=lambda one: (-one[1], one[0]))
    )
    column, value = (None, None) if at is None else at
    return Node(column, value, tuple(classes), children)


def _as_dict(node: Node, names: Names) -> dict[str, Any]:
    return {
        "feature": None if node.column is None else names.selection[node.column],
        "name": None if node.column is None else names.features[node.column],
        "activation": node.value,
        "classes": [names.classes[c] for c in node.classes],
        "children": [_as_dict(child, names) for child in node.children],
    }


def _said(level: Level, names: Names) -> str:
    if level.column is None:
        begin = f"Level {level.number}, nothing more is active"
    else:
        begin = f"Level {level.number}, {names.features[level.column]} ({level.value:+.2f})"
    named = ", ".join(names.classes[c] for c in level.classes[:NAMED])
    more = len(level.classes) - NAMED
    left = f"{named} and {more} more" if more > 0 else named
    if level.holds is None:
        return f"{begin}: {left}."
    share, low, high = (100 * value for value in level.holds)
    return f"{begin}: {left}; it holds the true class in {share:.1f} % ({low:.1f} to {high:.1f})."


def _rows(
    node: Node, names: Names, depth: int = 0, parent: int | None = None, place: int = 0
) -> Iterator[_Row]:
    """Yield the rows of a tree from one place on; a class that is left alone is one row."""
    text = "" if node.column is None else f"{names.features[node.column]} {node.value:+.2f}"
    onwards = {c for child in node.children for c in child.classes}
    alone = len(node.classes) == 1
    ending = tuple(c for c in node.classes if alone or c not in onwards)
    said = ", ".join(names.classes[c] for c in ending)
    yield _Row(depth, parent, ": ".join(part for part in (text, said) if part), ending)
    below = place + 1
    for child in () if alone else node.children:
        rows = list(_rows(child, names, depth + 1, place, below))
        yield from rows
        below += len(rows)
