"""What compiling a block of a ResNet50 gains, in a process that holds nothing else.

The compiler looks through all modules that were ever imported, and stumbles over some of them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import torch

from benchmarks.studies.scale.resnet import WIDER, Block

WIDTH, PATIENCE = 128, 300.0
"""Inner channels of the block, and seconds after which the compiler is given up."""
REPEATS = 3


def least(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the shortest time of a few calls, after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def block_ratio(side: int, batch: int) -> float | None:
    """Return the time of a compiled block in those of a plain one; None if it does not compile."""
    words = [sys.executable, "-m", "benchmarks.studies.scale.compiled", str(side), str(batch)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return float(done.stdout)


def main(side: int, batch: int) -> None:
    """Print the ratio for a block in the second stage, on pictures of such sides."""
    torch.manual_seed(0)
    block = Block(WIDER * WIDTH, WIDTH, 1).eval()
    maps = torch.randn(batch, WIDER * WIDTH, side // 8, side // 8)
    with torch.no_grad():
        plain = least(lambda: block(maps), 10)
        fast = torch.compile(block)
        sys.stdout.write(str(least(lambda: fast(maps), 10) / plain))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
