"""Whether the optimisation makes features mean something: drawn birds, against controls and rivals.

Every method gets the same dense network, the same training and the same number of features; what
differs is who chose them. A further method is one function of a `Task` that returns a sparse
classifier, and one line in `METHODS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from math import isnan
from pathlib import Path
from typing import Any

import torch
import typer
from torch import nn
from torch.utils.data import DataLoader

from benchmarks.runs.judge import commit
from qpopt import Instance, Solution, solve
from qpopt.io import replacing
from qpopt_torch import (
    DenseTraining,
    DrawnBirds,
    FineTuning,
    SparseClassifier,
    Statistics,
    collect,
    evaluate,
    fine_tune,
    train_dense,
)
from qpopt_torch.baselines.chance import chance_assignment, chance_selection
from qpopt_torch.baselines.sldd import sldd
from qpopt_torch.evidence.meaning import meaning_of
from qpopt_torch.network.local_network import local_network

N_SELECT, N_PER_CLASS = 20, 5
TIME_LIMIT = 20.0
GAP = 0.004
"""Seconds and gap at which the optimisation may end."""
RESULT = "meaning.md"

Figures = dict[str, float]

ROWS: Mapping[str, tuple[str, int]] = {
    "accuracy": ("accuracy %", 1),
    "part_alignment": ("aligned %", 0),
    "confirmed": ("confirmed %", 0),
    "found": ("variants found %", 0),
    "own_drop": ("own drop", 2),
    "other_drop": ("others' drop", 2),
    "deletion": ("deletion", 2),
    "background": ("background %", 1),
    "pointing": ("pointing %", 0),
    "of_part": ("twins' features %", 0),
    "twins": ("twins %", 0),
    "sid5": ("SID@5 %", 1),
    "contrastiveness": ("Contrast. %", 1),
}
"""The figures of a method, what they are called in the table, and their digits."""


@dataclass(frozen=True, eq=False)
class Effort:
    """How much is drawn and trained.

    Parameters
    ----------
    pictures, test_pictures
        Of every species.
    epochs, fine_tuning
        Epochs of the dense network and of every sparse one.
    """

    pictures: int = 100
    test_pictures: int = 25
    epochs: int = 14
    fine_tuning: int = 14

    @property
    def key(self) -> str:
        """What results of this effort are called."""
        counts = (self.pictures, self.test_pictures, self.epochs, self.fine_tuning)
        return "-".join(map(str, counts))


@dataclass(frozen=True, eq=False)
class Task:
    """What a method starts from.

    Parameters
    ----------
    dense
        The trained network.
    train
        Its training batches.
    statistics, instance
        What was collected of it, and the instance that is solved.
    tuning
        How the sparse model is to be fine-tuned.
    seed
        Fixes everything random.
    """

    dense: nn.Module
    train: DataLoader[Any]
    statistics: Statistics
    instance: Instance
    tuning: FineTuning
    seed: int

    def tuned(self, solution: Solution) -> SparseClassifier:
        """Return the sparse model of a solution, fine-tuned."""
        sparse = SparseClassifier.from_solution(self.dense, solution, self.statistics, relu=True)
        fine_tune(sparse, self.train, self.tuning, progress=False)
        return sparse


def optimised(task: Task) -> SparseClassifier:
    """Return the model of the best selection and assignment."""
    limits: dict[str, Any] = {"time_limit": TIME_LIMIT, "gap": GAP, "progress": False}
    return task.tuned(solve(task.instance, seed=task.seed, **limits))


def rival(method: Callable[..., SparseClassifier]) -> Callable[[Task], SparseClassifier]:
    """Return a way to make the model of a rival that selects as many features."""

    def made(task: Task) -> SparseClassifier:
        counts: dict[str, Any] = {"n_select": N_SELECT, "n_per_class": N_PER_CLASS}
        given: dict[str, Any] = {"training": task.tuning, "seed": task.seed, "progress": False}
        return method(task.dense, task.train, **counts, **given)

    return made


METHODS: Mapping[str, Callable[[Task], SparseClassifier]] = {
    "optimised": optimised,
    "random selection, best assignment": lambda t: t.tuned(chance_selection(t.instance, t.seed)),
    "random assignment": lambda t: t.tuned(chance_assignment(t.instance, t.seed)),
    "SLDD": rival(sldd),
}


def main(seeds: int, out: Path, effort: Effort | None = None) -> str:
    """Measure all methods and return the table.

    The network and the figures of every method are kept as soon as they are there: started again,
    it goes on with the next method.

    Parameters
    ----------
    seeds
        How many, each with species, pictures and a network of its own.
    out
        The results folder: a network and a file of figures for every seed, and the table.
    effort
        How much is drawn and trained.
    """
    spent = effort or Effort()
    out.mkdir(parents=True, exist_ok=True)
    found = [measured(seed, spent, out) for seed in range(seeds)]
    text = f"{table(found)}\n\nSeeds 0 to {seeds - 1}, {date.today()}, commit {commit()}.\n"
    with replacing(out / RESULT) as stream:
        stream.write(text.encode())
    return text


def measured(seed: int, effort: Effort, out: Path) -> dict[str, Figures]:
    """Return the figures of every method for one seed, those that are not there yet measured.

    Parameters
    ----------
    seed
        Fixes species, pictures and everything random.
    effort
        How much is drawn and trained.
    out
        The results folder.
    """
    file = out / f"seed{seed}-{effort.key}.json"
    figures: dict[str, Figures] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if not {"dense", *METHODS} - set(figures):
        return figures
    kind: dict[str, Any] = {"seed": seed, "pairs": 1.0}
    birds = DrawnBirds(n_per_species=effort.pictures, occlusion=0.1, **kind)
    others = DrawnBirds(n_per_species=effort.test_pictures, split="test", **kind)
    train, test = DataLoader(birds, 64, shuffle=True), DataLoader(others, 100)
    dense = _network(birds, train, effort, seed, file.with_suffix(".pt"))
    statistics = collect(dense, train, class_names=birds.class_names, progress=False)
    tuning = FineTuning(epochs=effort.fine_tuning, lr=3e-3, beta=0.3, leaking=0.7, **_common(seed))
    instance = statistics.instance(N_SELECT, N_PER_CLASS)
    task = Task(dense, train, statistics, instance, tuning, seed)
    for name in ("dense", *METHODS):
        if name in figures:
            continue
        typer.echo(f"seed {seed}: {name}")
        model = dense if name == "dense" else METHODS[name](task)
        figures[name] = _read(model, test, train)
        if isinstance(model, SparseClassifier):
            meaning = meaning_of(model, others, progress=False).percent()
            figures[name] |= {key: value for key, value in meaning.items() if not isnan(value)}
        with replacing(file) as stream:
            stream.write(json.dumps(figures, indent=1).encode())
    return figures


def table(found: list[dict[str, Figures]]) -> str:
    """Return a Markdown table: of every figure the mean, and in brackets its smallest and largest.

    Parameters
    ----------
    found
        What `measured` gave for every seed.
    """
    lines = [["", *found[0]], ["---"] + ["---:"] * len(found[0])]
    for key, (title, digits) in ROWS.items():
        by_method = [[seed[m][key] for seed in found if key in seed[m]] for m in found[0]]
        lines.append([title, *(_cell(values, digits) for values in by_method)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _network(
    birds: DrawnBirds, train: DataLoader[Any], effort: Effort, seed: int, file: Path
) -> nn.Module:
    """Return the dense network of a seed, from its file if it is there."""
    torch.manual_seed(seed)
    dense = local_network(birds.n_species, start=-1.0)
    if file.exists():
        dense.load_state_dict(torch.load(file, weights_only=True))
        return dense.eval()
    typer.echo(f"seed {seed}: the network")
    schedule = DenseTraining(
        epochs=effort.epochs, lr=6e-3, head_lr=1e-2, beta=0.1, dropout=0.1, **_common(seed)
    )
    train_dense(dense, train, schedule, progress=False)
    with replacing(file) as stream:
        torch.save(dense.state_dict(), stream)
    return dense


def _common(seed: int) -> dict[str, Any]:
    """Return what both trainings share; `examples/01_drawn_birds.py` has the same."""
    adam = {"algorithm": "adamw", "annealing": "cosine", "weight_decay": 0.02}
    return {**adam, "seed": seed}


def _read(model: nn.Module, test: DataLoader[Any], train: DataLoader[Any]) -> Figures:
    metrics = evaluate(model, test, train, progress=False).percent()
    return {key: value for key, value in metrics.items() if value is not None}


def _cell(values: list[float], digits: int) -> str:
    if not values:
        return "–"
    mean, low, high = (
        f"{value:.{digits}f}" for value in (sum(values) / len(values), min(values), max(values))
    )
    return mean if len(values) == 1 else f"{mean} ({low}–{high})"
