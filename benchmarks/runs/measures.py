"""What a run is measured by: its gap to the best known, and that over time."""

from __future__ import annotations

from collections.abc import Sequence

from qpopt.problem.tolerances import relative_gap


def gap_to_best(objective: float | None, best: float | None) -> float | None:
    """Return how far an objective lies below the best known, relatively; negative if above."""
    if objective is None or best is None:
        return None
    return 0.0 - relative_gap(objective, best)


def primal_gap(objective: float | None, best: float | None) -> float:
    """Return |best − objective| / max(|best|, |objective|), and 1 where either is missing.

    It lies between 0 and 1. It is 1 also where the two have different signs, and 0 for an
    objective better than the best known.
    """
    if objective is None or best is None or objective * best < 0:
        return 1.0
    if objective >= best:
        return 0.0
    return (best - objective) / max(abs(best), abs(objective))


def primal_integral(
    trace: Sequence[tuple[float, float]], best: float | None, time_limit: float
) -> float:
    """Return the integral of the primal gap over the time limit, in seconds.

    A run that has the best solution at once gets 0, one that finds none gets the time limit.

    Parameters
    ----------
    trace
        Seconds and objective of each improvement.
    best
        The best-known objective.
    time_limit
        Where the integral ends; what is found later does not count.
    """
    total, since, gap = 0.0, 0.0, 1.0
    for seconds, objective in sorted(trace):
        moment = min(max(seconds, 0.0), time_limit)
        total += gap * (moment - since)
        since = moment
        if seconds <= time_limit:
            gap = min(gap, primal_gap(objective, best))
    return total + gap * (time_limit - since)
