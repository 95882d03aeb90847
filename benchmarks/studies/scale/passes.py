"""What `collect` adds to the bare loop, and whether that depends on the number of samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import nn

from benchmarks.runs.processes import alone
from benchmarks.studies.scale.stream import CASES, Stream, loader_of
from qpopt_torch import collect
from qpopt_torch.network.observation import evaluating


class Size(NamedTuple):
    """Of a generated data set and its network."""

    samples: int
    features: int
    classes: int
    batch: int


class Pass(NamedTuple):
    """One pass: milliseconds a sample without and with `collect`, and the peak memory in GB."""

    samples: int
    bare: float
    collect: float
    memory: float

    @property
    def overhead(self) -> float:
        """What `collect` adds, in milliseconds a sample."""
        return self.collect - self.bare


def bare_pass(model: nn.Module, loader: Iterable[Any]) -> None:
    """Run a model over all batches and keep nothing."""
    with evaluating(model), torch.no_grad():
        for x, _ in loader:
            model(x)


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measured(case: str, size: Size, bins: int = 0) -> Pass:
    """Return what a pass costs, in a process of its own."""
    (bare, collected), memory = alone(_both, case, size, bins)
    return Pass(size.samples, 1e3 * bare / size.samples, 1e3 * collected / size.samples, memory)


def _both(case: str, size: Size, bins: int) -> tuple[float, float]:
    model, shape = CASES[case](size.features, size.classes)
    loader = loader_of(Stream(size.samples, size.classes, shape), size.batch)
    warm = loader_of(Stream(size.batch, size.classes, shape), size.batch)
    collect(model, warm, bins=bins, progress=False)
    return (
        seconds(lambda: bare_pass(model, loader)),
        seconds(lambda: collect(model, loader, bins=bins, progress=False)),
    )
