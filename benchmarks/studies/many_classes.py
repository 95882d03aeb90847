"""An instance with as many classes as ImageNet-21k, end to end: seconds and memory of each step."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import psutil
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.runs.processes import GIGABYTE, alone, memory
from qpopt import Instance, Solution, generate, solve, verify

FEATURES, CLASSES = 2048, 21_841
SELECT, PER_CLASS = 50, 5


class Cost(NamedTuple):
    """What a step took: seconds, and the largest memory of its process until then, in GB."""

    step: str
    seconds: float
    memory: float


class Run(NamedTuple):
    """The steps, what was found, and whether all that was read back was as it had been written."""

    costs: list[Cost]
    objective: float
    steps_a_second: float
    ok: bool


def main(
    features: Annotated[int, typer.Option(help="How many features.")] = FEATURES,
    classes: Annotated[int, typer.Option(help="How many classes.")] = CLASSES,
    seconds: Annotated[float, typer.Option(help="Time limit of the search.")] = 60.0,
) -> None:
    """Generate, save, load, search, save the solution, load it and verify it."""
    run, _ = alone(end_to_end, features, classes, seconds)
    table = Table("step", "seconds", "GB at most", title=f"{features} × {classes}")
    for cost in run.costs:
        table.add_row(cost.step, f"{cost.seconds:.1f}", f"{cost.memory:.2f}")
    console = Console()
    console.print(table)
    state = "verified" if run.ok else "WRONG"
    console.print(f"{run.objective:.4f}, {state}; {run.steps_a_second:.0f} steps a second")
    if not run.ok:
        raise typer.Exit(1)


def end_to_end(features: int, classes: int, seconds: float) -> Run:
    """Go through all steps in this process."""
    costs: list[Cost] = []

    def step(name: str, work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        result = work(*arguments, **options)
        spent = time.perf_counter() - began
        # What the kernel says of one process is exact to some pages only, and may fall by those.
        most = max([memory(psutil.Process()) / GIGABYTE, *(cost.memory for cost in costs)])
        costs.append(Cost(name, spent, most))
        return result

    with TemporaryDirectory() as folder:
        file, answer = Path(folder) / "instance.npz", Path(folder) / "solution.json"
        made = step("generate", generate, features, classes, SELECT, PER_CLASS)
        step("save the instance", made.save, file)
        fingerprint = made.fingerprint
        del made
        instance = step("load it", Instance.load, file)
        found = step("search", solve, instance, method="search", time_limit=seconds)
        step("save the solution", found.save, answer)
        read = step("load it", Solution.load, answer)
        check = step("verify", verify, instance, read)
        same = instance.fingerprint == fingerprint and read.objective == found.objective
    rate = found.details["steps"] / found.seconds
    return Run(costs, float(found.objective), rate, bool(check) and same)
