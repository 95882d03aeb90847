"""What demands cost on the real instance: time to a good solution, proven gap, and objective."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.library.library import Library
from benchmarks.studies.search import time_to
from qpopt import Average, Instance, generate, solve, verify

NAME = "cub-50-5"
"""The real instance in the library: 2048 features, 200 classes, 50 of them, 5 each."""
DEFAULT = Path("programme.json")
WIDTH_OF_FILES = 140

FORBIDDEN, WANTED = 500, 20
"""How many cells are forbidden, and among how many of the best of every class."""
REQUIRED_FEATURES, CLASSES_OF_EACH = 10, 5
"""Features that are required, each of the classes that it tells most about."""


class Part(str, Enum):
    """The parts of the table."""

    search = "search"
    gaps = "gaps"


def cells(instance: Instance) -> dict[str, Any]:
    """Return 500 forbidden and 50 required assignments, as people would: where they matter."""
    rng = np.random.default_rng(0)
    order = np.argsort(-instance.A, axis=1)
    best = order[:, :WANTED]
    features = np.argsort(-instance.A.max(axis=0))[:REQUIRED_FEATURES]
    suited = np.argsort(-instance.A[:, features], axis=0)[:CLASSES_OF_EACH]
    required = {
        (int(c), int(d)) for d, classes in zip(features, suited.T, strict=True) for c in classes
    }
    wanted = [(c, int(d)) for c, row in enumerate(best) for d in row if (c, int(d)) not in required]
    chosen = rng.choice(len(wanted), FORBIDDEN, replace=False)
    return {"forbidden": [wanted[i] for i in chosen], "required": sorted(required)}


DEMANDS: dict[str, Callable[[Instance], dict[str, Any]]] = {
    "none": lambda instance: {},
    "500 forbidden, 50 required": cells,
    "classes_per_feature (5, 40)": lambda instance: {"classes_per_feature": (5, 40)},
    "100 pairs by rho = 0.5": lambda instance: {"rho": 0.5},
    "budget average, 2 to 8": lambda instance: {"budget": Average(2, 8)},
    "at most 2 negatives": lambda instance: {"negative": 2},
}


def with_demands(instance: Instance, demand: str) -> Instance:
    """Return the instance with the demands of a row."""
    return Instance(
        instance.A,
        instance.R,
        instance.b,
        instance.n_select,
        instance.n_per_class,
        hint=instance.hint,
        **DEMANDS[demand](instance),
    )


def main(
    part: Annotated[list[Part] | None, typer.Option(help="Only these parts.")] = None,
    demand: Annotated[list[str] | None, typer.Option(help="Only these rows, by a word.")] = None,
    seconds: Annotated[float, typer.Option(help="Time limit of a search.")] = 60.0,
    limit: Annotated[float, typer.Option(help="Time limit of a proof.")] = 600.0,
    out: Annotated[Path, typer.Option(help="Where rows are kept; those in it stay.")] = DEFAULT,
    again: Annotated[bool, typer.Option(help="Measure anew what is there.")] = False,
) -> None:
    """Measure what demands cost: one core, compiled beforehand, one row after the other."""
    rows: dict[str, dict[str, Any]] = json.loads(out.read_text()) if out.exists() else {}
    names = [name for name in DEMANDS if not demand or any(word in name for word in demand)]
    solve(generate(20, 4, 5, 2), method="search", options={"step_limit": 50})
    instance = Library().instance(NAME)
    for name in names:
        for one in part or list(Part):
            length = seconds if one is Part.search else limit
            key = f"{name}, {one.value}, {length:g} s"
            if again or key not in rows:
                rows[key] = _measure(with_demands(instance, name), one, length)
                partial = out.with_name(out.name + ".part")
                partial.write_text(json.dumps(rows, indent=1) + "\n")
                partial.replace(out)
    width = None if Console().is_terminal else WIDTH_OF_FILES
    Console(width=width).print(_table(rows, seconds, limit))


def _measure(instance: Instance, part: Part, seconds: float) -> dict[str, Any]:
    method = "search" if part is Part.search else "projected"
    options = {"patience": seconds} if part is Part.search else None
    found = solve(instance, method=method, time_limit=seconds, threads=1, options=options)
    checked = verify(instance, found)
    if found.objective is None or not checked:
        return {"objective": None, "problem": str(checked)}
    row = {"objective": found.objective, "bound": found.bound, "gap": found.gap}
    reached = time_to(found.trace, found.objective)
    return {**row, "reached": reached, "seconds": found.seconds}


def _table(rows: dict[str, dict[str, Any]], seconds: float, limit: float) -> Table:
    """Return the table: what is not measured yet is left empty."""
    plain = rows.get(f"none, search, {seconds:g} s", {})
    gap_of_plain = rows.get(f"none, gaps, {limit:g} s", {}).get("gap")
    title = f"{NAME}: searches of {seconds:g} s, proofs of {limit:g} s"
    table = Table(
        "demand",
        "objective",
        "lost",
        "within 0.1 %",
        "ratio",
        "gap",
        "more than plain",
        title=title,
    )
    for name in DEMANDS:
        found = rows.get(f"{name}, search, {seconds:g} s", {})
        proven = rows.get(f"{name}, gaps, {limit:g} s", {}).get("gap")
        values = [found.get("objective"), found.get("reached")]
        lost = ratio = more = None
        if values[0] is not None and plain.get("objective"):
            lost = 100.0 * (1.0 - values[0] / plain["objective"])
        if values[1] is not None and plain.get("reached"):
            ratio = values[1] / plain["reached"]
        if proven is not None and gap_of_plain is not None:
            more = 100.0 * (proven - gap_of_plain)
        table.add_row(
            name,
            _shown(values[0], "{:.4f}"),
            _shown(lost, "{:.2f} %"),
            _shown(values[1], "{:.2f} s"),
            _shown(ratio, "{:.1f}"),
            _shown(None if proven is None else 100.0 * proven, "{:.2f} %"),
            _shown(more, "{:+.2f} %"),
        )
    return table


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
