"""Install this project into the environment that runs this, and tell on one line how far it is.

    .venv/bin/python .ci/install.py EXTRAS

All that pip says is in install.log beside the environment, and shown where it fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOG = Path(sys.prefix) / "install.log"
SITE = Path(sysconfig.get_path("purelib"))
EVERY = 0.5 if sys.stdout.isatty() else 15.0
"""Seconds between two looks."""
FOUND = ("Collecting ", "Processing ", "Requirement already satisfied: ", "Obtaining ")
TAIL = 30
"""Lines of the log that are shown where pip fails."""


def stage(log: str, n_before: int) -> str:
    """Return in words how far pip is, from what it said and what lies in the environment."""
    lines = log.splitlines()
    unpacking = [line for line in lines if line.startswith("Installing collected packages: ")]
    if unpacking:
        n_packages = unpacking[-1].count(",") + 1
        n_done = min(n_packages, max(0, installed() - n_before))
        return f"3 of 3: unpacking, {n_done} of {n_packages} packages"
    found = [line for line in lines if line.startswith(FOUND)]
    if not found:
        return "1 of 3: preparing"
    name = found[-1].partition(": ")[2] or found[-1].split()[1]
    return f"2 of 3: fetching, {len(found)} packages so far, now {Path(name.split()[0]).name[:40]}"


def installed() -> int:
    """Return how many packages the environment has."""
    return len(list(SITE.glob("*.dist-info")))


def tell(text: str, last: str, seconds: float) -> str:
    """Show a stage: in place on a terminal, elsewhere where it is news."""
    if sys.stdout.isatty():
        print(f"\r  {int(seconds) // 60}:{int(seconds) % 60:02d}  {text:<70}", end="", flush=True)
    elif text != last:
        print(f"  {int(seconds)} s  {text}", flush=True)
    return text


def main() -> int:
    """Run pip, and return its exit code."""
    command = [sys.executable, "-m", "pip", "install", "--editable", f".[{sys.argv[1]}]"]
    began, n_before, last = time.monotonic(), installed(), ""
    with LOG.open("w") as stream:
        pip = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        try:
            while pip.poll() is None:
                last = tell(stage(LOG.read_text(), n_before), last, time.monotonic() - began)
                time.sleep(EVERY)
        except KeyboardInterrupt:  # pip gets it too
            pip.wait()
    if sys.stdout.isatty():
        print()
    if pip.returncode:
        print("\n".join(LOG.read_text().splitlines()[-TAIL:]))
        print(f"pip failed; all that it said is in {LOG}.")
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main())
