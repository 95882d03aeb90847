"""The gap, and every tolerance within which a claim is made."""

from __future__ import annotations

from math import isfinite

TOLERANCE = 1e-6
"""Solvers cut off what improves on the best solution by less than this, relative to its value,
and accept solutions that break constraints by as much."""

OPTIMAL_GAP = 1e-3
"""The largest gap at which a solution may be called optimal."""

SMALLEST_OBJECTIVE = 1e-10
"""What gaps are relative to where the objective is nearer to 0 than this."""


def relative_gap(bound: float, objective: float) -> float:
    """Return (bound − objective) / max(|objective|, 1e-10)."""
    return (bound - objective) / max(abs(objective), SMALLEST_OBJECTIVE)


def is_closed(bound: float, objective: float, gap: float) -> bool:
    """Tell whether a bound lies within a relative gap, or within rounding, of an objective."""
    rounding = 2.5 * TOLERANCE * max(1.0, abs(objective))
    return isfinite(objective) and bound - objective <= max(gap * abs(objective), rounding)


def outward(bound: float) -> float:
    """Move an upper bound up by the tolerances within which a solver works."""
    return bound + TOLERANCE * max(1.0, abs(bound))
