"""How long a person waits in the studio: the real server, driven over the loopback address."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import numpy as np
import torch
from rich.table import Table
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.errors import BenchmarkError
from benchmarks.studies.browser import new_page
from qpopt_torch import AdapterTraining, collect, sparsify
from qpopt_torch.studio.launch import Opened, open_studio

SIDE, PATCH, CHANNELS = 24, 4, 64
NOISE = 0.6
PATIENCE = 120.0
"""Seconds after which an answer is given up."""


class Waits(NamedTuple):
    """Seconds from saying a demand until its solution is shown, and until its accuracy is."""

    demand: str
    solution: float
    accuracy: float


def main(
    features: int,
    classes: int,
    samples: int,
    select: int,
    per_class: int,
    demands: int,
    seed: int,
    tell: Callable[[str], None] = lambda text: None,
) -> Table:
    """Open the studio of a network of this size and make random demands, one after the other."""
    train, test = (pictures(classes, samples, seed, part) for part in (0, 1))
    network = made_network(features, classes, train)
    loaders = [DataLoader(TensorDataset(*part), 250) for part in (train, test)]
    with TemporaryDirectory() as place:
        folder = Path(place)
        began = time.perf_counter()
        statistics = collect(network, loaders[0], progress=False)
        statistics.instance(select, per_class).save(folder / "instance.npz")
        sparse = sparsify(
            network,
            loaders[0],
            n_select=select,
            n_per_class=per_class,
            training=AdapterTraining(kind="linear", epochs=2),
            solve={"time_limit": 5.0, "seed": seed},
            progress=False,
        )
        tell(f"model made in {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        opened = open_studio(
            sparse,
            loaders[1],
            instance=folder / "instance.npz",
            train_loader=loaders[0],
            folder=folder / "studio",
            browser=False,
            reading={"progress": False},
        )
        try:
            tell(f"studio opened in {time.perf_counter() - began:.1f} s")
            size = len(urlopen(opened.address).read())
            shown = page_seconds(opened.address)
            said = "no browser to try" if shown is None else f"usable after {shown:.2f} s"
            tell(f"page of {size / 1e6:.1f} MB, {said}")
            waits = drive(opened, demands, seed, tell)
        finally:
            opened.close()
    return table_of(waits)


def pictures(classes: int, samples: int, seed: int, part: int) -> tuple[Tensor, Tensor]:
    """Return pictures and labels: every class is a pattern, seen through noise."""
    pattern = torch.Generator().manual_seed(seed)
    noise = torch.Generator().manual_seed(seed + 1 + part)
    cells = torch.randn(classes, 3, SIDE // PATCH, SIDE // PATCH, generator=pattern)
    means = nn.functional.interpolate(cells, size=(SIDE, SIDE), mode="bilinear")
    labels = torch.arange(samples) % classes
    return means[labels] + NOISE * torch.randn(samples, 3, SIDE, SIDE, generator=noise), labels


def made_network(features: int, classes: int, train: tuple[Tensor, Tensor]) -> nn.Module:
    """Return a network of random filters whose head is fitted to the class means."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, CHANNELS, PATCH, PATCH),
        nn.ReLU(),
        nn.Conv2d(CHANNELS, features, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        head := nn.Linear(features, classes),
    ).eval()
    images, labels = train
    with torch.no_grad():
        pooled = torch.cat([network[:-1](part) for part in torch.split(images, 250)])
        scaled = (pooled - pooled.mean(0)) / pooled.std(0).clamp_min(1e-6)
        means = torch.stack([scaled[labels == c].mean(0) for c in range(classes)])
        weight = means / pooled.std(0).clamp_min(1e-6)
        head.weight.copy_(weight)
        head.bias.copy_(-(weight @ pooled.mean(0)) - 0.5 * means.square().sum(1))
    return network


def drive(opened: Opened, demands: int, seed: int, tell: Callable[[str], None]) -> list[Waits]:
    """Make demands as the page does, each after the answer to the one before."""
    chance = np.random.default_rng(seed)
    waits = []
    _until(opened, lambda told: not told["running"])
    for number in range(demands):
        wanted = random_demand(_state(opened), chance)
        began = time.perf_counter()
        _act(opened, {"action": "add", "demand": wanted})
        state = _act(opened, {"action": "solve"})["state"]
        solved = _until(opened, partial(_known, state, "sets")) - began
        measured = _until(opened, partial(_known, state, "accuracy")) - began
        waits.append(Waits(wanted["kind"], solved, measured))
        tell(f"{number + 1:3} {wanted['kind']:<11} {solved:6.2f} s {measured:6.2f} s")
        _act(opened, {"action": "back", "state": 0})
    return waits


def random_demand(told: Mapping[str, Any], chance: np.random.Generator) -> dict[str, Any]:
    """Return something that a person might say of the model that was opened."""
    first = _of(told, 0)
    selection, sets = first["selection"], first["sets"]
    c = int(chance.integers(len(sets)))
    feature, own = int(chance.choice(selection)), int(chance.choice(sets[c]))
    kinds = [
        {"kind": "exclude", "feature": feature},
        {"kind": "require", "feature": int(chance.integers(max(selection)))},
        {"kind": "forbid", "feature": own, "of": c},
        {"kind": "assign", "feature": feature, "of": c},
        {"kind": "pair", "of": c, "other": (c + 1) % len(sets)},
        {"kind": "n_select", "value": first["n_select"] + int(chance.choice([-5, 5]))},
        {"kind": "redundancy", "value": float(chance.choice([0.5, 2.0]))},
        {"kind": "bias", "value": float(chance.choice([0.5, 2.0]))},
    ]
    return dict(kinds[chance.integers(len(kinds))])


def page_seconds(address: str) -> float | None:
    """Return the seconds until a browser shows the page and its steering; None without one."""
    with new_page() as page:
        if page is None:
            return None
        began = time.perf_counter()
        page.goto(f"{address}#/steer")
        page.get_by_role("button", name="Undo").wait_for()
        return time.perf_counter() - began


def table_of(waits: list[Waits]) -> Table:
    """Return how the waits are distributed, in seconds."""
    table = Table("seconds until", "least", "median", "90 %", "most", title=f"{len(waits)} demands")
    for name in ("solution", "accuracy"):
        values = [getattr(one, name) for one in waits]
        marks = np.quantile(values, [0.0, 0.5, 0.9, 1.0])
        table.add_row(name, *(f"{mark:.2f}" for mark in marks))
    return table


def _state(opened: Opened) -> dict[str, Any]:
    return dict(json.loads(urlopen(opened.address + "state").read()))


def _of(told: Mapping[str, Any], number: int) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in told["states"] if one["number"] == number)
    if found["problem"]:
        raise BenchmarkError(f"The studio has no answer: {found['problem']}")
    return found


def _known(number: int, what: str, told: Mapping[str, Any]) -> bool:
    return bool(_of(told, number)[what])


def _act(opened: Opened, wanted: Mapping[str, Any]) -> dict[str, Any]:
    request = Request(opened.address + "act", data=json.dumps(wanted).encode())
    return dict(json.loads(urlopen(request).read()))


def _until(opened: Opened, true: Callable[[Mapping[str, Any]], Any]) -> float:
    """Follow what the server tells until something is true; return when it was."""
    with urlopen(opened.address + "events", timeout=PATIENCE) as stream:
        end = time.perf_counter() + PATIENCE
        for line in stream:
            if line.startswith(b"data: ") and true(json.loads(line[6:])):
                return time.perf_counter()
            if time.perf_counter() > end:
                break
    raise BenchmarkError(f"The studio gave no answer within {PATIENCE:.0f} seconds.")
