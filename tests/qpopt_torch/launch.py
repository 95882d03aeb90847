"""Running a program in several processes at once, as torchrun does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

END = """
import os, sys
sys.stdout.flush()
os._exit(0)
"""
"""Threads of torch's process groups sometimes abort the interpreter's own way out."""


def in_two_processes(program, folder):
    """Run the text of a program twice side by side and return what both print."""
    return in_processes(program, folder, 2)


def in_processes(program, folder, number):
    """Run the text of a program in so many processes and return what all print.

    The program finds the folder, where it is written to as well, as its first argument.
    """
    path = folder / "program.py"
    path.write_text(program + END, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={number}",
    ]
    done = subprocess.run(
        [*command, str(path), str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
