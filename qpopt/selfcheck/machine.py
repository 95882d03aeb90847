"""What was checked, and on what: versions of Python, packages and BLAS, and the processor."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from qpopt._version import __version__
from qpopt.solvers.registry import solver_version

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "pyomo",
    "highspy",
    "networkx",
    "threadpoolctl",
    "typer",
    "rich",
)
"""What every installation has; solvers tell their versions themselves."""


def machine() -> dict[str, Any]:
    """Describe this machine as values that JSON can hold."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {"qpopt": __version__, **{name: _version(name) for name in PACKAGES}},
        "blas": sorted(
            " ".join(
                str(part)
                for part in (one["internal_api"], one["version"], one.get("architecture", ""))
                if part
            )
            for one in threadpool_info()
            if one["user_api"] == "blas"
        ),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def solver_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of solvers."""
    return {name: solver_version(name) for name in names}


def processor() -> str:
    """Return what the processor is called, as far as the system tells."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    with suppress(PackageNotFoundError):
        return version(name)
    return "unknown"
