"""Whether the optimisation makes features mean something: drawn birds, against two controls."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch.utils.data import DataLoader

from qpopt import Instance, Solution, solve
from qpopt.io import replacing
from qpopt_torch import (
    DenseTraining,
    DrawnBirds,
    FineTuning,
    SparseClassifier,
    collect,
    evaluate,
    fine_tune,
    train_dense,
)
from qpopt_torch.baselines.random_assignment import random_assignment, random_selection
from qpopt_torch.network.local_network import local_network

N_SELECT, N_PER_CLASS = 20, 5
FIGURES = ("accuracy", "sid5", "contrastiveness", "part_alignment", "structural_grounding")
TIME_LIMIT = 20.0
GAP = 0.004
"""Seconds and gap at which the optimisation may end."""


def _optimised(instance: Instance, seed: int) -> Solution:
    return solve(instance, time_limit=TIME_LIMIT, gap=GAP, seed=seed, progress=False)


METHODS: dict[str, Callable[[Instance, int], Solution]] = {
    "optimised": _optimised,
    "random selection": random_selection,
    "random assignment": random_assignment,
}


def main(
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, each with its species.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of the dense network.")] = 20,
    fine_tuning: Annotated[int, typer.Option(min=1, help="Epochs of the sparse one.")] = 14,
    pictures: Annotated[int, typer.Option(min=1, help="Pictures of every species.")] = 100,
    out: Annotated[Path, typer.Option(help="The results folder.")] = Path("results/meaning"),
) -> None:
    """Show how readable models of drawn birds are; started again, it goes on where it stopped."""
    out.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[dict[str, float | None]]] = {}
    for seed in range(seeds):
        file = out / f"seed{seed}-{epochs}-{fine_tuning}-{pictures}.json"
        if not file.exists():
            figures = measured(seed, epochs, fine_tuning, pictures)
            with replacing(file) as stream:
                stream.write(json.dumps(figures, indent=1).encode())
        for method, row in json.loads(file.read_text(encoding="utf-8")).items():
            rows.setdefault(method, []).append(row)
    table = Table("method", *(name.replace("_", " ") + " %" for name in FIGURES))
    for method, found in rows.items():
        table.add_row(method, *(_cell([row[name] for row in found]) for name in FIGURES))
    Console(width=120).print(table)


def measured(
    seed: int, epochs: int, fine_tuning: int, pictures: int
) -> dict[str, dict[str, float | None]]:
    """Train one dense network and, from it, one sparse model for every method; return figures.

    Parameters
    ----------
    seed
        Fixes species, pictures and everything random.
    epochs, fine_tuning
        Epochs of the dense network and of every sparse one.
    pictures
        Of every species.
    """
    birds = DrawnBirds(n_per_species=pictures, seed=seed)
    train = DataLoader(birds, 64, shuffle=True)
    test = DataLoader(DrawnBirds(n_per_species=25, split="test", seed=seed), 100)
    torch.manual_seed(seed)
    dense = local_network(birds.n_species)
    schedule = DenseTraining(
        epochs=epochs,
        lr=0.1,
        head_lr=0.1,
        decay_every=max(1, epochs // 4),
        beta=0.25,
        dropout=0.1,
        seed=seed,
    )
    train_dense(dense, train, schedule)
    statistics = collect(dense, train, class_names=birds.class_names)
    instance = statistics.instance(N_SELECT, N_PER_CLASS, redundancy=3)
    figures = {"dense": evaluate(dense, test, train).percent()}
    for name, method in METHODS.items():
        sparse = SparseClassifier.from_solution(dense, method(instance, seed), statistics)
        decay = max(1, fine_tuning // 4)
        tuning = FineTuning(epochs=fine_tuning, decay_every=decay, beta=0.3, seed=seed)
        fine_tune(sparse, train, tuning)
        figures[name] = evaluate(sparse, test, train).percent()
    return figures


def _cell(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    every = ", ".join(f"{value:.0f}" for value in known)
    return f"{mean(known):.1f} ({every})" if known else "–"


if __name__ == "__main__":
    typer.run(main)
