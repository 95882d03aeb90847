"""Outlines: how they are made, and how they become pixels, in whole numbers only.

Coordinates of shapes come from sums and products of constants. Placed in a picture, they are
rounded to a fraction of a fine cell, and from then on nothing but integers is added, compared and
shifted. So a picture is the same on every machine, with every version of every library. Every
fine cell shows exactly one outline, which makes the truth exact as well: what share of a pixel
belongs to which part is a count of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Colour = tuple[int, int, int]

INK = (38, 36, 42)
CREAM = (250, 243, 226)

STEPS = 6
"""Straight pieces between two points of a smooth outline."""
FINE = 4
"""Fine cells along the side of a pixel: 16 a pixel give 17 shades at an edge."""
UNIT = 256
"""Positions along the side of a fine cell, to which outlines are rounded."""


@dataclass(frozen=True, eq=False)
class Shape:
    """One outline, filled with one colour.

    Parameters
    ----------
    points
        Points × 2, in units; the last is joined with the first.
    colour
        Red, green and blue, 0 to 255.
    """

    points: NDArray[np.float64]
    colour: Colour


def straight(colour: Colour, *points: Point) -> Shape:
    """Return a shape with corners."""
    return Shape(np.array(points, dtype=np.float64), colour)


def smooth(colour: Colour, *points: Point) -> Shape:
    """Return a shape whose outline runs smoothly through some points: a Catmull-Rom spline."""
    p = np.array(points, dtype=np.float64)
    before, after, second = np.roll(p, 1, 0), np.roll(p, -1, 0), np.roll(p, -2, 0)
    pieces = []
    for step in range(STEPS):
        t = step / STEPS
        rising = (after - before) * t
        bent = (2 * before - 5 * p + 4 * after - second) * (t * t)
        turned = (3 * p - before - 3 * after + second) * (t * t * t)
        pieces.append(p + (rising + bent + turned) / 2)
    return Shape(np.stack(pieces, 1).reshape(-1, 2), colour)


def disc(colour: Colour, x: float, y: float, width: float, height: float | None = None) -> Shape:
    """Return an upright ellipse, given by its centre and its half axes."""
    a, b = width, width if height is None else height
    c, d = 0.70710678 * a, 0.70710678 * b
    ring = [(a, 0), (c, d), (0, b), (-c, d), (-a, 0), (-c, -d), (0, -b), (c, -d)]
    return smooth(colour, *((x + dx, y + dy) for dx, dy in ring))


def darker(colour: Colour, percent: int = 72) -> Colour:
    """Return the shaded tone of a colour."""
    red, green, blue = (value * percent // 100 for value in colour)
    return red, green, blue


def paint(points: NDArray[np.int64], sizes: Sequence[int], side: int) -> NDArray[np.uint8]:
    """Fill outlines one over the other, with the even-odd rule.

    Parameters
    ----------
    points
        Of all outlines, from back to front: points × 2, in units of 1 / `UNIT` of a fine cell.
    sizes
        How many points each outline has; at most 255 outlines.
    side
        Of the picture, in fine cells.

    Returns
    -------
    array
        side × side: the number of the outline on top, from 1; 0 where there is none.
    """
    last_points = np.cumsum(sizes) - 1
    following = np.arange(1, len(points) + 1)
    following[last_points] = last_points + 1 - np.array(sizes)
    x0, y0 = points.T
    x1, y1 = points[following].T
    owner = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    # An edge crosses the rows whose middles lie in [top, bottom): no corner counts twice.
    half = UNIT // 2
    first = np.clip((np.minimum(y0, y1) + half - 1) // UNIT, 0, side)
    last = np.clip((np.maximum(y0, y1) + half - 1) // UNIT, 0, side)
    crossed = last - first
    edge = np.repeat(np.arange(len(owner)), crossed)
    row = first[edge] + _counting(crossed)
    dx, dy = x1 - x0, y1 - y0
    x = x0[edge] + (row * UNIT + half - y0[edge]) * dx[edge] // dy[edge]
    column = np.clip((x + half - 1) // UNIT, 0, side)
    key = np.sort((owner[edge] * side + row) * (side + 1) + column)
    line, column = key // (side + 1), key % (side + 1)
    # Crossings of one outline in one row come in pairs: inside is what lies between them.
    left, right, line = column[0::2], column[1::2], line[0::2]
    length = right - left
    cells = np.repeat((line % side) * side + left, length) + _counting(length)
    picture = np.zeros(side * side, dtype=np.uint8)
    # Where an index comes twice, the last value stays: the outline in front.
    picture[cells] = np.repeat((line // side).astype(np.uint8), length)
    return picture.reshape(side, side)


def _counting(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, … up to each length, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - lengths, lengths)


def pixel_sums(fine: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums over the cells of every pixel, rows × columns."""
    rows = fine[0::FINE].copy()
    for k in range(1, FINE):
        rows += fine[k::FINE]
    sums = rows[:, 0::FINE].copy()
    for k in range(1, FINE):
        sums += rows[:, k::FINE]
    return sums


def compose(
    painted: NDArray[np.uint8], colours: NDArray[np.int64], background: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a picture, size × size × 3, of painted cells in front of a background.

    Parameters
    ----------
    painted
        As `paint` gives it.
    colours
        Outlines × 3, from 0 to 255.
    background
        size × size × 3, shown where nothing is painted.
    """
    # Red, green, blue and the number of cells share one word, 16 bits each: 16 cells of 255 fit.
    table = np.zeros(len(colours) + 1, dtype=np.int64)
    table[1:] = colours @ np.array([1, 1 << 16, 1 << 32]) + (1 << 48)
    sums = pixel_sums(table.take(painted))
    red, green, blue, n_painted = (sums >> shift & 0xFFFF for shift in (0, 16, 32, 48))
    n_cells = FINE * FINE
    shown = np.stack([red, green, blue], axis=2)
    return (shown + background * (n_cells - n_painted)[:, :, None] + n_cells // 2) // n_cells


def coverage(painted: NDArray[np.uint8], owners: Sequence[int], n: int) -> NDArray[np.int64]:
    """Return how many cells of every pixel show each owner's outlines: n × size × size.

    Parameters
    ----------
    painted
        As `paint` gives it.
    owners
        Of every outline, from 0 to n − 1; −1 for none.
    n
        How many owners there are, at most 7.
    """
    # All counts share one word, 8 bits each: there are at most 16 cells.
    table = np.array([0] + [0 if owner < 0 else 1 << 8 * owner for owner in owners])
    sums = pixel_sums(table.take(painted))
    return np.stack([sums >> 8 * owner & 0xFF for owner in range(n)])
