"""A part of a bird and its variants; what a bird is made of.

A bird looks to the right in a square of 1000 × 1000 units, x to the right and y downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qpopt_torch.data.birds.outlines import Point, Shape

Joint = Literal["body", "head", "tail", "legs"]

PIVOTS: dict[Joint, Point] = {
    "body": (480, 520),
    "head": (620, 420),
    "tail": (250, 560),
    "legs": (490, 690),
}
"""Where the joints turn: what belongs to a joint moves with it."""
GROWTH: dict[Joint, float] = {"body": 1.0, "head": 1.32, "tail": 1.0, "legs": 1.25}
"""How large what belongs to a joint is drawn, about its pivot: at 64 pixels a beak must be seen."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One way in which a part can look.

    Parameters
    ----------
    name
        What it is called, for example `red`.
    phrase
        What a bird that has it is called, for example `red-eyed`.
    shapes
        What is drawn, from back to front.
    """

    name: str
    phrase: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, eq=False)
class BirdPart:
    """A part that every bird has, in one of several variants.

    Parameters
    ----------
    name
        What it is called.
    joint
        What it moves with.
    centre, reach
        Where a leaf hides it, in units, and how large that leaf is.
    variants
        All ways in which it can look.
    """

    name: str
    joint: Joint
    centre: Point
    reach: float
    variants: tuple[Variant, ...]
