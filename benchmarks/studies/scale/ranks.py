"""A pass by one process and by several: how long it takes, and whether all find the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.studies.scale.passes import Size
from qpopt_torch import Statistics

ROOT = Path(__file__).parents[3]
PATIENCE = 600.0
"""Seconds after which the processes are given up."""


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Together(NamedTuple):
    """What so many processes take, and the largest difference of A from that of one."""

    processes: int
    seconds: float
    difference: float


def together(size: Size, processes: Sequence[int]) -> list[Together]:
    """Let one process after the other number collect the same samples, each with one thread."""
    alone = _collected(size, 1)
    rows = []
    for number in processes:
        seconds, found = alone if number == 1 else _collected(size, number)
        difference = float(np.abs(found.similarity() - alone[1].similarity()).max())
        rows.append(Together(number, seconds, difference))
    return rows


def _collected(size: Size, processes: int) -> tuple[float, Statistics]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", "-m", "benchmarks.studies.scale.rank"]
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with TemporaryDirectory() as place:
        folder = Path(place)
        done = subprocess.run(
            [*command, place, *map(str, size)],
            env={**os.environ, **threads},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode:
            raise BenchmarkError(f"{processes} processes failed: {done.stderr[-500:]}")
        seconds = float(json.loads((folder / "seconds.json").read_text(encoding="utf-8")))
        return seconds, Statistics.load(folder / "statistics.npz")
