"""What machine this is, for the rows."""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path

import psutil


def machine() -> dict[str, str]:
    """Describe this machine: host, processor and operating system."""
    return {
        "host": platform.node(),
        "processor": _processor(),
        "cores": str(psutil.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
