"""Every figure of the report, each a function of plain values or of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, fsum, inf, log
from typing import NamedTuple

from benchmarks.runs.measures import gap_to_best, primal_gap
from benchmarks.runs.rows import Row
from qpopt.problem.tolerances import outward

SHIFT = 10.0
"""Seconds added before taking the geometric mean, so that tiny times do not rule it."""


def shifted_geometric_mean(values: Iterable[float], shift: float = SHIFT) -> float:
    """Return exp(mean(log(value + shift))) − shift.

    Raises
    ------
    ValueError
        If there are no values.
    """
    logs = [log(value + shift) for value in values]
    if not logs:
        raise ValueError("There is no mean of nothing.")
    return exp(fsum(logs) / len(logs)) - shift


def with_common_best(rows: Sequence[Row]) -> list[Row]:
    """Compare all runs of an instance with one best-known objective: the best in the rows."""
    best: dict[str, float] = {}
    for row in rows:
        for value in (row.best_known, row.objective):
            if value is not None:
                best[row.instance] = max(value, best.get(row.instance, -inf))
    return [
        replace(
            row,
            best_known=best.get(row.instance),
            gap_to_best=gap_to_best(row.objective, best.get(row.instance)),
        )
        for row in rows
    ]


def is_solved(row: Row) -> bool:
    """Whether a run found a solution that stood verification and proved it within the gap."""
    return row.status == "optimal" and row.verified is True


def is_proven(row: Row) -> bool:
    """Whether the bound was recomputed from a certificate, and is as tight as was claimed."""
    if row.bound is None or row.bound_verified is None:
        return False
    return row.bound_verified <= outward(row.bound)


def run_seconds(row: Row) -> float:
    """Return the seconds for building and solving; loading the instance is not counted."""
    return (row.build_seconds or 0.0) + (row.solve_seconds or 0.0)


def charged_seconds(row: Row) -> float:
    """Return the seconds of a solved run; every other run is charged its time limit."""
    return min(run_seconds(row), row.time_limit) if is_solved(row) else row.time_limit


class Summary(NamedTuple):
    """What the report says of one configuration over all its runs."""

    config: str
    runs: int
    verified: int
    solved: int
    refused: int
    failed: int
    bounds: int
    """How many runs claim a bound that nothing refutes."""
    proven: int
    """How many of them have a certificate that proves as much."""
    seconds: float
    """Shifted geometric mean, failures charged the limit."""
    gap: float | None
    """Mean gap to best known over the verified runs."""
    primal_integral: float
    """Mean, in seconds."""
    memory: float
    """Largest peak, in megabytes."""


def by_config(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of every configuration."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.config, []).append(row)
    return dict(sorted(groups.items()))


def summaries(rows: Iterable[Row]) -> list[Summary]:
    """Return one summary a configuration: most solved first, then fastest, then best."""
    found = [_summary(config, group) for config, group in by_config(rows).items()]
    return sorted(found, key=lambda s: (-s.solved, s.seconds, s.primal_integral, s.config))


def _summary(config: str, rows: Sequence[Row]) -> Summary:
    gaps = [row.gap_to_best for row in rows if row.gap_to_best is not None]
    return Summary(
        config=config,
        runs=len(rows),
        verified=sum(row.verified is True for row in rows),
        solved=sum(map(is_solved, rows)),
        refused=sum(row.status == "refused" for row in rows),
        bounds=sum(row.bound is not None for row in rows),
        proven=sum(map(is_proven, rows)),
        failed=sum(row.status in ("wrong", "error", "crash", "timeout", "memory") for row in rows),
        seconds=shifted_geometric_mean(map(charged_seconds, rows)),
        gap=fsum(gaps) / len(gaps) if gaps else None,
        primal_integral=fsum(row.primal_integral for row in rows) / len(rows),
        memory=max(row.peak_memory for row in rows),
    )


def performance_profile(
    seconds: Mapping[str, Mapping[str, float]],
) -> dict[str, list[tuple[float, float]]]:
    """Return the performance profiles of Dolan and Moré.

    Parameters
    ----------
    seconds
        For every configuration the seconds for each problem; infinite where it failed. Problems
        that no configuration solved count in the shares but make no step.

    Returns
    -------
    dict
        For every configuration the steps (τ, share of the problems it solved within τ times the
        seconds of the fastest), τ rising from 1.
    """
    problems = sorted({problem for times in seconds.values() for problem in times})
    fastest = {
        problem: min(times.get(problem, inf) for times in seconds.values()) for problem in problems
    }
    profiles = {}
    for config, times in seconds.items():
        ratios = sorted(
            max(times[problem], 1e-3) / max(fastest[problem], 1e-3)
            for problem in problems
            if times.get(problem, inf) < inf
        )
        steps = [(1.0, 0.0)]
        for count, ratio in enumerate(ratios, start=1):
            share = count / len(problems)
            if ratio == steps[-1][0]:
                steps[-1] = (ratio, share)
            else:
                steps.append((ratio, share))
        profiles[config] = steps
    return profiles


def profile_seconds(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Return the seconds of every configuration by instance and seed; infinite if unsolved."""
    return {
        config: {
            f"{row.instance} {row.seed}": run_seconds(row) if is_solved(row) else inf
            for row in group
        }
        for config, group in by_config(rows).items()
    }


def mean_gap_over_time(
    traces: Sequence[Sequence[tuple[float, float]]],
    bests: Sequence[float | None],
    moments: Sequence[float],
) -> list[float]:
    """Return the primal gap at each moment, averaged over runs.

    Parameters
    ----------
    traces
        For every run seconds and objective of each improvement.
    bests
        For every run the best-known objective of its instance.
    moments
        Seconds at which to look.
    """
    means = []
    for moment in moments:
        gaps = []
        for trace, best in zip(traces, bests, strict=True):
            reached = [primal_gap(value, best) for seconds, value in trace if seconds <= moment]
            gaps.append(min(reached, default=1.0))
        means.append(fsum(gaps) / max(len(gaps), 1))
    return means
