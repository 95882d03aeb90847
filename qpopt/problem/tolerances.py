"""The margin that keeps a bound computed in floating point on the right side."""

from __future__ import annotations

TOLERANCE = 1e-6
"""Solvers cut off what improves on the best solution by less than this, relative to its value,
and accept solutions that break constraints by as much."""


def outward(bound: float) -> float:
    """Move an upper bound up by the tolerances within which a solver works."""
    return bound + TOLERANCE * max(1.0, abs(bound))
