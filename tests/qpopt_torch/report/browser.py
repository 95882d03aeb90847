"""Which browser the tests of the page use, and how it starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = (
    "--no-sandbox",  # it does not start as root otherwise
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable(fetched: str) -> str:
    """Return the Chromium of the system, or the one that `playwright install` fetched.

    Without one the test is skipped, unless QPOPT_BROWSER=required says that it must run.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and Path(fetched).exists():
        found = fetched
    if found is None:
        missing = "there is no Chromium; install it or run playwright install chromium"
        if os.environ.get("QPOPT_BROWSER") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    return found
