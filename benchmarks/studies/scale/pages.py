"""Reports of many classes: how large they are, and how long a browser takes to show them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.studies.browser import new_page
from benchmarks.studies.scale.passes import seconds
from qpopt import Solution
from qpopt_torch import SparseClassifier, collect

SIDE = 64
"""Pixels along the sides of the pictures."""
PER_CLASS = 5


class Page(NamedTuple):
    """A report: what it shows, its size, and seconds to write, to open and to show a class."""

    layout: str
    classes: int
    pictures: int
    megabytes: float
    write: float
    opened: float | None
    searched: float | None


class Pictures(Sequence[tuple[Tensor, Tensor]]):
    """Batches of smooth pictures, made when they are read: so many of every class."""

    def __init__(self, classes: int, of_each: int, batch: int = 250) -> None:
        self.labels = torch.arange(classes).repeat(of_each)
        self.batch = batch

    def __len__(self) -> int:
        return -(-len(self.labels) // self.batch)

    def __getitem__(self, number: Any) -> Any:
        labels = self.labels[number * self.batch : (number + 1) * self.batch]
        if not len(labels):
            raise IndexError
        generator = torch.Generator().manual_seed(number)
        coarse = torch.rand(len(labels), 3, 8, 8, generator=generator)
        return nn.functional.interpolate(coarse, size=(SIDE, SIDE), mode="bicubic"), labels


def written(layout: str, classes: int, features: int, of_each: int) -> Page:
    """Write the report of a model of so many classes, and open it."""
    pictures = Pictures(classes, of_each)
    sparse = _sparse(classes, features, pictures)
    names = [f"bird {c:05}" for c in range(classes)]
    with TemporaryDirectory() as folder:
        target = Path(folder) / ("report" if layout == "folder" else "report.html")
        pages: list[Path] = []
        write = seconds(
            lambda: pages.append(
                sparse.report(target, pictures, class_names=names, layout=layout, progress=False)
            )
        )
        files = [target] if target.is_file() else [f for f in target.rglob("*") if f.is_file()]
        size = sum(file.stat().st_size for file in files) / 1e6
        waits = _shown(pages[0], names[-1])
    return Page(layout, classes, len(pictures.labels), size, write, *waits)


def _sparse(classes: int, features: int, pictures: Pictures) -> SparseClassifier:
    """Return a classifier whose classes share features in groups, of a network of one layer."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 2 * features, 8, stride=8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * features, classes),
    ).eval()
    chance, sets = np.random.default_rng(0), set[tuple[int, ...]]()
    group = max(2 * PER_CLASS, features // 3)
    while len(sets) < classes:
        near = (chance.integers(features) + np.arange(group)) % features
        sets.add(tuple(sorted(chance.choice(near, PER_CLASS, replace=False).tolist())))
    assignment = np.zeros((classes, features), dtype=bool)
    for row, members in zip(assignment, sorted(sets), strict=True):
        row[list(members)] = True
    statistics = collect(model, pictures, progress=False)
    solution = Solution(np.arange(features), assignment, 1.0)
    return SparseClassifier.from_solution(model, solution, statistics)


def _shown(page: Path, name: str) -> tuple[float | None, float | None]:
    """Return the seconds until a page can be used and until a class is found; None without one."""
    with new_page() as shown:
        if shown is None:
            return None, None
        began = time.perf_counter()
        shown.goto(page.as_uri())
        tab = shown.get_by_role("tab", name="Classes")
        tab.click()
        opened = time.perf_counter() - began
        began = time.perf_counter()
        shown.get_by_label("Find a class").fill(name)
        shown.locator("#panel-classes .cards > li", has_text=name).first.wait_for()
        shown.locator("#panel-classes .cards .picture").first.wait_for()
        return opened, time.perf_counter() - began
