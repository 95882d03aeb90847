"""Processes of their own: their environment, their memory, and ending them with all they began."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

PARENT_CHECK = 1.0
"""Seconds between two looks whether the parent is still there."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""What pins the threads of libraries."""


def pinned(threads: int) -> dict[str, str]:
    """Return this environment with the threads of all libraries pinned to a number."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in a process that imports from where this one does.

    `python -m` would import from the present folder first, whatever lies there. What the
    environment of the process names besides comes last.
    """
    code = (
        f"import sys; known = {sys.path!r}; "
        "sys.path[:] = known + [path for path in sys.path if path and path not in known]; "
        f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-c", code, *arguments]


def end_with_parent() -> None:
    """End this process, whatever it is doing, once the process that started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_group(pid: int) -> None:
    """Kill what is left of the process group that a process led."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that is in its group, and wait until it is gone."""
    if hasattr(os, "killpg"):
        end_group(process.pid)
    process.kill()
    process.wait()


def resident_megabytes(pid: int) -> float:
    """Return the memory that a process has resident; 0 where the system does not tell."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return 1024.0 * int(line.split()[1]) / 1e6
    return 0.0


def processor_seconds(pid: int) -> float:
    """Return how long processors have worked for a process; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        # The second field is a name, which may hold anything, in brackets.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0
