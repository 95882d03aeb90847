"""Motion: where the points of an outline go."""

from __future__ import annotations

from typing import NamedTuple

from qpopt_torch.data.birds.outlines import Point

RADIANS = 3.14159265358979 / 180


class Motion(NamedTuple):
    """An affine map: x goes to xx·x + xy·y + x0, and y to yx·x + yy·y + y0."""

    xx: float
    xy: float
    x0: float
    yx: float
    yy: float
    y0: float

    @classmethod
    def turn(cls, degrees: float, pivot: Point = (0.0, 0.0)) -> Motion:
        """Return the turn about a point, by at most a right angle.

        The tangent of half the angle gives sine and cosine by divisions, and a series gives the
        tangent: libraries differ in the last digit of a sine, but not in these.
        """
        half = degrees * RADIANS / 2
        square = half * half
        t = half * (1 + square * (1 / 3 + square * (2 / 15 + square * 17 / 315)))
        sine, cosine = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)
        x, y = pivot
        return cls(
            cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y
        )

    @classmethod
    def scale(cls, x: float, y: float, *, to: Point = (0.0, 0.0)) -> Motion:
        """Return what stretches about the origin and then moves the origin to a point."""
        return cls(x, 0.0, to[0], 0.0, y, to[1])

    @classmethod
    def grow(cls, factor: float, pivot: Point) -> Motion:
        """Return what makes all distances from a point larger."""
        x, y = pivot
        return cls.scale(factor, factor, to=(x - factor * x, y - factor * y))

    def then(self, other: Motion) -> Motion:
        """Return this motion followed by another one."""
        return Motion(
            other.xx * self.xx + other.xy * self.yx,
            other.xx * self.xy + other.xy * self.yy,
            other.xx * self.x0 + other.xy * self.y0 + other.x0,
            other.yx * self.xx + other.yy * self.yx,
            other.yx * self.xy + other.yy * self.yy,
            other.yx * self.x0 + other.yy * self.y0 + other.y0,
        )
