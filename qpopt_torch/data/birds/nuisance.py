"""Nuisance: how much pictures of one species differ."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from numbers import Real

from qpopt import InvalidArgument

MOST = {"turn": 90, "pose": 45, "size": 0.5, "place": 0.5, "light": 0.5, "noise": 64}
"""The largest amounts with which a bird can still be seen; 1 for all others."""


@dataclass(frozen=True, kw_only=True)
class Nuisance:
    """How much pictures of one species differ; 0 everywhere gives the same pose each time.

    Parameters
    ----------
    turn
        Largest turn of the whole bird, in degrees.
    pose
        Largest turn of head and tail against the body, in degrees; legs turn half as far.
    size
        Largest relative change of the size.
    place
        Largest shift in each direction, as a share of the picture.
    mirror
        Chance that the bird looks to the left.
    plumage
        How far body and head, which belong to no part, may be from one middle tone: from 0 to 1.
    tint
        Largest relative change of the colours of each part.
    light
        Largest relative change of the brightness, and as much again from one side to the other.
    noise
        Standard deviation of the noise in every pixel and channel, in steps of 1 / 255.
    clutter
        Contrast of the blurred background: from 0, one plain colour, to 1.
    perch
        Chance that the bird sits on a twig.
    """

    turn: float = 18.0
    pose: float = 15.0
    size: float = 0.15
    place: float = 0.07
    mirror: float = 0.5
    plumage: float = 1.0
    tint: float = 0.1
    light: float = 0.15
    noise: float = 4.0
    clutter: float = 0.9
    perch: float = 0.6

    def __post_init__(self) -> None:
        for field in fields(self):
            value, largest = getattr(self, field.name), MOST.get(field.name, 1)
            plain = isinstance(value, Real) and not isinstance(value, bool)
            if not (plain and isfinite(value) and 0 <= value <= largest):
                raise InvalidArgument(
                    f"The nuisance {field.name} must be a number from 0 to {largest}, not "
                    f"{value!r}."
                )
