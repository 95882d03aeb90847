from __future__ import annotations

import os

import numpy as np

from benchmarks.runs.processes import alone


def fill(megabytes: int) -> int:
    """Use memory for a moment, and return the process that did it."""
    np.ones(megabytes * 1_000_000 // 8).sum()
    return os.getpid()


def test_the_peak_is_that_of_a_process_of_its_own():
    held = np.ones(50_000_000)  # 0.4 GB of the parent
    few, small = alone(fill, 1)
    many, large = alone(fill, 200)
    assert len({few, many, os.getpid()}) == 3
    assert small < 0.2 < large < 0.4
    assert len(held) == 50_000_000
