"""Processes with everything that they started: starting, measuring and ending them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import psutil

from qpopt.control.processes import end_group

GIGABYTE = 1e9

Result = TypeVar("Result")


def alone(work: Callable[..., Result], *arguments: Any) -> tuple[Result, float]:
    """Return what a function returns in a fresh process, and the peak memory of that in gigabytes.

    Nothing else has used its memory, and it ends even where a solver does not listen.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_with_peak, work, *arguments).result()


def _with_peak(work: Callable[..., Result], *arguments: Any) -> tuple[Result, float]:
    result = work(*arguments)
    return result, memory(psutil.Process()) / GIGABYTE


def memory(process: psutil.Process) -> float:
    """Return the resident bytes of a process and all its descendants.

    Where the kernel remembers the peak of the process itself it counts too, for a peak may fall
    between two looks. (`getrusage` would not do: it counts the parent's memory before the exec.)
    """
    total = 0.0
    for member in [process, *_descendants(process)]:
        with suppress(psutil.Error):
            total += member.memory_info().rss
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return max(total, 1024.0 * int(line.split()[1]))
    return total


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return found


def end(process: psutil.Process) -> None:
    """Kill a process with all its descendants, also those in groups of their own."""
    descendants = _descendants(process)
    end_group(process.pid)
    for member in descendants:
        with suppress(psutil.Error):
            member.kill()
