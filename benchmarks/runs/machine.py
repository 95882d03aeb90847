"""What machine this is, for the rows."""

from __future__ import annotations

import platform

import psutil

from qpopt.selfcheck.machine import processor


def machine() -> dict[str, str]:
    """Describe this machine: host, processor and operating system."""
    return {
        "host": platform.node(),
        "processor": processor(),
        "cores": str(psutil.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
    }
