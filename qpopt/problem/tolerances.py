"""The gap, and every tolerance within which a claim is made."""

from __future__ import annotations

from math import isfinite

TOLERANCE = 1e-6
"""Solvers cut off what improves on the best solution by less than this, relative to its value,
and accept solutions that break constraints by as much."""

OPTIMAL_GAP = 1e-3
"""The largest gap at which a solution may be called optimal."""

ROUNDING = 1e-9
"""By how much a bound may lie below the objective of a solution, relative to what the terms of Z
add up to: more than sums of floating-point numbers lose, and less than a wrong bound would show."""

SMALLEST_OBJECTIVE = 1e-10
"""What gaps are relative to where the objective is nearer to 0 than this."""


def relative_gap(bound: float, objective: float) -> float:
    """Return (bound − objective) / max(|objective|, 1e-10)."""
    return (bound - objective) / max(abs(objective), SMALLEST_OBJECTIVE)


def is_closed(
    bound: float, objective: float, gap: float, size: float = 1.0, offset: float = 0.0
) -> bool:
    """Tell whether a bound lies within a relative gap, or within rounding, of an objective.

    Parameters
    ----------
    bound, objective, gap
        The bound, the objective and the gap.
    size
        What the terms of Z add up to: what rounding is relative to, as Z itself may be 0.
    offset
        What Z is more than `objective`, where constants have been taken out of it.
    """
    rounding = 2.5 * TOLERANCE * max(size, abs(objective))
    allowed = max(gap * abs(objective + offset), rounding)
    return isfinite(objective) and bound - objective <= allowed


def outward(bound: float, size: float = 1.0) -> float:
    """Move an upper bound up by the tolerances within which a solver works.

    They are relative to what the terms of Z add up to, its `size`.
    """
    return bound + TOLERANCE * max(size, abs(bound))
