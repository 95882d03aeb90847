"""How fast and how good the search is: steps a second, spread over seeds, sizes, other solvers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import psutil
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.library.curation import improve
from benchmarks.library.library import Library
from benchmarks.library.sources import real_instance
from benchmarks.runs.processes import GIGABYTE, alone, memory
from qpopt import Instance, Solution, TracePoint, generate, solve, verify
from qpopt.problem.tolerances import relative_gap

NAME = "cub-50-5"
"""The real instance in the library."""
LARGE_NAME = "imagenet-50-5"
"""The one with 1000 classes."""
NEAR = 1e-3
"""How close to the best known counts as reached in the comparison with solvers."""

console = Console()


class Measurement(str, Enum):
    """The parts of the benchmark."""

    steps = "steps"
    seeds = "seeds"
    solvers = "solvers"
    sizes = "sizes"
    large = "large"
    memory = "memory"
    limits = "limits"


def main(
    part: Annotated[list[Measurement] | None, typer.Option(help="Only these parts.")] = None,
    seconds: Annotated[float, typer.Option(help="Time limit of a search.")] = 10.0,
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 10,
    solver_limit: Annotated[float, typer.Option(help="Time limit of HiGHS and CP-SAT.")] = 300.0,
    large_limit: Annotated[float, typer.Option(help="The long run at 2048 × 1000.")] = 600.0,
) -> None:
    """Measure the search; one core, compiled beforehand."""
    parts = part or list(Measurement)
    search(generate(20, 4, 5, 2), step_limit=50)
    if Measurement.steps in parts:
        measure_steps()
    if Measurement.seeds in parts:
        compare_seeds(real_instance(), seconds, seeds)
    if Measurement.solvers in parts:
        compare_solvers(real_instance(), seconds, solver_limit)
    if Measurement.sizes in parts:
        compare_sizes(seconds)
    if Measurement.large in parts:
        compare_large(seconds, large_limit)
    if Measurement.memory in parts:
        measure_memory(seconds)
    if Measurement.limits in parts:
        compare_limits(seconds)


def best_known(instance: Instance) -> float:
    """Return the best-known objective of the real instance, after checking its solution."""
    saved = Library().best(NAME)
    if saved is None or saved.objective is None:
        raise typer.BadParameter(f"The library has no solution of {NAME}.")
    checked = verify(instance, saved)
    if not checked:
        raise typer.BadParameter(f"The best known of {NAME} does not solve it: {checked}")
    return saved.objective


def measure_steps() -> None:
    """Print full-neighbourhood steps per second of processor time for growing sizes."""
    table = Table("features", "classes", "steps/s", "ps a feature and class", title="steps")
    for n_classes in (200, 1000):
        for n_features in (1024, 2048, 4096):
            instance = generate(n_features, n_classes, 50, 5, epsilon=0.3)
            search(instance, step_limit=10)
            started = time.process_time()
            steps = search(instance, step_limit=2000).details["steps"]
            each = (time.process_time() - started) / steps
            table.add_row(
                str(n_features),
                str(n_classes),
                f"{1 / each:.0f}",
                f"{each / n_features / n_classes * 1e12:.0f}",
            )
    console.print(table)


def compare_seeds(instance: Instance, seconds: float, seeds: int) -> None:
    """Print what every seed reaches within the time limit; save a new best solution."""
    results = [search(instance, time_limit=seconds, seed=seed) for seed in range(seeds)]
    best = max(results, key=objective)
    if objective(best) > best_known(instance) + 1e-6:
        improve(Library(), best)
    reference = best_known(instance)
    table = Table(
        "seed", "objective", "below best known", "steps", "best found at", "within 0.1 % at"
    )
    for seed, result in enumerate(results):
        table.add_row(
            str(seed),
            f"{result.objective:.6f}",
            _below(objective(result), reference),
            str(result.details["steps"]),
            f"{result.trace[-1].seconds:.2f} s",
            _shown(time_to(result.trace, reference)),
        )
    table.title = f"{instance.name}: best known {reference:.6f}"
    console.print(table)


def compare_solvers(instance: Instance, seconds: float, limit: float) -> None:
    """Print the time to come within 0.1 % of the best known, for the search and for solvers."""
    reference = best_known(instance)
    result = search(instance, time_limit=seconds)
    own = time_to(result.trace, reference)
    console.print(f"time to come within 0.1 % of {reference:.4f}")
    console.print(f"search: {result.objective:.4f}, {_shown(own)}")
    for solver in ("highs", "cpsat"):
        found, _ = alone(_solve_compact, solver, limit)
        reached = time_to(found.trace, reference)
        ratio = (limit if reached is None else reached) / (own or seconds)
        value = "nothing" if found.objective is None else f"{found.objective:.4f}"
        moment = f"not in {limit:g} s" if reached is None else _shown(reached)
        shown = f"{'> ' if reached is None else ''}{ratio:.0f}"
        console.print(
            f"compact, {solver}: {value}, {moment}, ratio {shown} "
            f"(ended after {found.seconds:.0f} s)"
        )


def _solve_compact(solver: str, limit: float) -> Solution:
    return solve(
        real_instance(),
        method="compact",
        solver=solver,
        time_limit=limit,
        threads=1,
        options={"search_steps": 0},
    )


def compare_sizes(seconds: float) -> None:
    """Print three seeds for every number of features selected and per class."""
    table = Table("n_select", "n_per_class", "three seeds", "spread", title="sizes")
    for n_select in (20, 50, 100, 200):
        for n_per_class in (3, 5, 10):
            instance = real_instance(n_select, n_per_class)
            values = [
                objective(search(instance, time_limit=seconds, seed=seed)) for seed in range(3)
            ]
            table.add_row(
                str(n_select),
                str(n_per_class),
                " ".join(f"{value:.4f}" for value in values),
                _below(min(values), max(values)),
            )
    console.print(table)


def compare_large(seconds: float, limit: float) -> None:
    """Print how close to its own late result the search is early, with 1000 classes."""
    result = search(Library().instance(LARGE_NAME), time_limit=limit)
    table = Table("seconds", "objective", "below the last", title="2048 features × 1000 classes")
    for moment in (1.0, seconds, 60.0, limit):
        known = [p.objective for p in result.trace if p.seconds <= moment and p.objective]
        value = max(known)
        table.add_row(f"{moment:g}", f"{value:.6f}", _below(value, objective(result)))
    console.print(table)


def measure_memory(seconds: float) -> None:
    """Print the peak memory of a process that does nothing but load and search the instance."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "instance.npz"
        real_instance().save(path)
        loading, searching = alone(_load_and_search, path, seconds)
    console.print(f"peak memory at 2048 × 200: {searching:.2f} GB; loading alone {loading:.2f} GB")


def compare_limits(seconds: float) -> None:
    """Print how long solves take that must make thousands of classes distinct."""
    rng = np.random.default_rng(0)
    nothing = np.zeros((100, 100)), np.zeros(100)
    crowded = {
        "all 4845 sets": generate(40, 4845, 20, 4),
        "2000 equal classes": Instance(rng.random((1, 100)).repeat(2000, 0), *nothing, 50, 5),
    }
    table = Table("classes", "method", "limit", "took", title="time limits")
    for name, instance in crowded.items():
        for method in ("search", "projected"):
            solve(instance, method=method, time_limit=0.0)  # loads what the method needs
            took = solve(instance, method=method, time_limit=seconds).seconds
            table.add_row(name, method, f"{seconds:g} s", f"{took:.2f} s")
    console.print(table)


def _load_and_search(path: Path, seconds: float) -> float:
    """Search an instance; return the gigabytes that loading alone took."""
    instance = Instance.load(path)
    loading = memory(psutil.Process()) / GIGABYTE
    search(instance, time_limit=seconds)
    return loading


def search(
    instance: Instance,
    *,
    time_limit: float | None = None,
    step_limit: int | None = None,
    seed: int = 0,
) -> Solution:
    """Search with one thread until a limit is reached, improvement or not."""
    options = {"step_limit": step_limit, "patience": time_limit}
    return solve(instance, method="search", time_limit=time_limit, seed=seed, options=options)


def objective(solution: Solution) -> float:
    """Return the objective of what a search found; it always finds something."""
    assert solution.objective is not None
    return solution.objective


def time_to(trace: Iterable[TracePoint], reference: float) -> float | None:
    """Return when a trace came within 0.1 % of the reference, or None."""
    for point in trace:
        if point.objective is not None and point.objective >= (1 - NEAR) * reference:
            return point.seconds
    return None


def _below(value: float, best: float) -> str:
    return f"{100 * relative_gap(best, value):.4f} %"


def _shown(moment: float | None) -> str:
    return "never" if moment is None else f"{moment:.2f} s"
