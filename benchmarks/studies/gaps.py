"""Proven gaps: the projected method beside HiGHS and CP-SAT on the compact model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.library.library import Library
from benchmarks.library.sources import real_instance
from benchmarks.runs.processes import alone
from benchmarks.runs.specs import CERTIFICATE, gives_certificates
from qpopt import Instance, QpoptError, Solution, generate, solve
from qpopt.problem.tolerances import relative_gap

MINUTE = 60.0
WIDTH_OF_FILES = 120
"""Columns where the output goes to a file: no name is cut off."""


class Case(NamedTuple):
    """An instance, its time limit in seconds, and the gap in percent that it must reach."""

    make: Callable[[], Instance]
    seconds: float
    must: float


def _library(name: str) -> Instance:
    return Library().instance(name)


REAL = partial(_library, "cub-50-5")

CASES = {
    "cub-50-5-20s": Case(REAL, 20.0, 5.0),
    "cub-50-5-minute": Case(REAL, MINUTE, 1.9),
    "unseen-minute": Case(partial(generate, 2048, 200, 50, 5, seed=7), MINUTE, 2.5),
    "cub-50-5": Case(REAL, 10 * MINUTE, 1.0),
    "cub-20-5": Case(partial(_library, "cub-20-5"), 10 * MINUTE, 0.8),
    "cub-100-5": Case(partial(_library, "cub-100-5"), 20 * MINUTE, 4.0),
    "imagenet-50-5": Case(partial(_library, "imagenet-50-5"), 10 * MINUTE, 0.6),
    "cub-without-redundancy": Case(partial(real_instance, redundancy=0.0), 5 * MINUTE, 0.1),
    "attributes-256x50-20": Case(partial(generate, 256, 50, 20, 5), 5 * MINUTE, 0.01),
    "uniform-512x50-20": Case(
        lambda: generate(512, 50, 20, 5, structure="uniform"), 5 * MINUTE, np.inf
    ),
}
LIMITS = {f"limit-{seconds}s": float(seconds) for seconds in (10, 20, 40, 60, 120, 300)}
"""The same instance with ever more time: more must never prove less."""
CASES |= {name: Case(REAL, seconds, np.inf) for name, seconds in LIMITS.items()}

BOUNDS = (
    *("cub-20-3", "cub-20-10", "cub-50-3", "cub-50-5-r05", "cub-50-5-r35"),
    *("cub-50-5-r50", "cub-50-10", "cub-100-3", "cub-100-10"),
)
CASES |= {name: Case(partial(_library, name), 3 * MINUTE, 6.0) for name in BOUNDS}

ROUTES = {
    "projected": ("projected", "auto"),
    "compact HiGHS": ("compact", "highs"),
    "compact CP-SAT": ("compact", "cpsat"),
}


def main(
    only: Annotated[list[str] | None, typer.Option(help="Only these cases.")] = None,
    limits: Annotated[bool, typer.Option(help="Only the cases of ever more time.")] = False,
    share: Annotated[float, typer.Option(help="Share of the time limits to use.")] = 1.0,
    baselines: Annotated[bool, typer.Option(help="Also run the compact model.")] = False,
    trace: Annotated[bool, typer.Option(help="Also show the gap over time.")] = True,
    out: Annotated[Path | None, typer.Option(help="Folder to save the solutions to.")] = None,
    certified: Annotated[bool, typer.Option(help="Save certificates beside them.")] = False,
) -> None:
    """Show what is proven within the time limits, and by whom."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_OF_FILES)
    bounds: dict[float, float] = {}
    table = Table("instance", "route", "objective", "bound", "gap %", "must", "seconds", "GB")
    for name, case in CASES.items():
        if (only and name not in only) or (limits and name not in LIMITS):
            continue
        for route in ROUTES if baselines else list(ROUTES)[:1]:
            target = None if out is None else out / f"{name}, {route}.json"
            options: dict[str, Any] = {}
            if target is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                if certified and gives_certificates(ROUTES[route][0]):
                    options = {CERTIFICATE: str(target.with_suffix(".npz"))}
            solution, memory = alone(_run, name, route, share, options)
            if target is not None and solution is not None:
                solution.save(target)
            table.add_row(*_row(name, route, case, solution, memory))
            if name in LIMITS and route == "projected" and solution is not None:
                bounds[case.seconds] = inf if solution.bound is None else solution.bound
            console.print(table)
            if trace and solution is not None:
                console.print(f"{name}, {route}: {_gaps(solution)}")
    for less, more in worse_with_more_time(bounds):
        console.print(f"{more:g} s prove less than {less:g} s: {bounds[more]} > {bounds[less]}")


def worse_with_more_time(bounds: Mapping[float, float]) -> list[tuple[float, float]]:
    """Return the pairs of time limits of which the longer one gave the worse bound."""
    return [
        (less, more)
        for less, more in combinations(sorted(bounds), 2)
        if bounds[more] > bounds[less]
    ]


def _run(name: str, route: str, share: float, options: dict[str, Any]) -> Solution | None:
    case = CASES[name]
    method, solver = ROUTES[route]
    try:
        return solve(
            case.make(),
            method=method,
            solver=solver,
            time_limit=share * case.seconds,
            options=options,
        )
    except QpoptError:
        return None


def _row(
    name: str, route: str, case: Case, solution: Solution | None, memory: float
) -> tuple[str, ...]:
    must = f"≤ {case.must:g}"
    if solution is None:
        return name, route, "not run", "", "", must, "", ""
    gap = "none" if solution.gap is None else f"{100 * solution.gap:.3f}"
    objective = "none" if solution.objective is None else f"{solution.objective:.3f}"
    bound = "none" if solution.bound is None else f"{solution.bound:.3f}"
    return name, route, objective, bound, gap, must, f"{solution.seconds:.0f}", f"{memory:.2f}"


def _gaps(solution: Solution) -> str:
    """Return the gap to the final objective at doubling times."""
    parts, next_time = [], 1.0
    for point in solution.trace:
        if point.bound is not None and solution.objective is not None:
            gap = 100 * relative_gap(point.bound, solution.objective)
            if point.seconds >= next_time or point is solution.trace[-1]:
                parts.append(f"{point.seconds:.0f} s {gap:.2f} %")
                next_time = 2.0 * point.seconds
    return ", ".join(parts) or "no bound"
