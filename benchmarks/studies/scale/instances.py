"""From the sums of many classes to an instance: seconds and memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.runs.processes import alone
from benchmarks.studies.scale.passes import seconds
from qpopt_torch import Statistics


class Made(NamedTuple):
    """An instance: its classes, seconds to make it of its sums, and the peak memory in GB."""

    classes: int
    seconds: float
    memory: float


def made(features: int, classes: int) -> Made:
    """Make an instance in a process of its own."""
    spent, memory = alone(_spent, features, classes)
    return Made(classes, spent, memory)


def _spent(features: int, classes: int) -> float:
    chance = np.random.default_rng(0)
    counts = np.full(classes, 1000)
    sums = 1000.0 * chance.normal(0.0, 0.3, (classes, features))
    squares = np.full(features, 2.0 * counts.sum())
    minima = np.full(features, -4.0)
    statistics = Statistics(counts, np.zeros(features), sums, squares, minima)
    return seconds(lambda: statistics.instance(min(50, features // 2), 5, bias="none"))
