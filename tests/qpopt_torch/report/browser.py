"""Which browser the tests of the page use, how it starts, and how it goes to a view."""

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


def go(page, view):
    """Open a view; the page follows the address in an event of its own."""
    page.evaluate(
        "(hash) => new Promise((done) => {"
        "  if (location.hash === hash) return done();"
        "  addEventListener('hashchange', () => done(), { once: true });"
        "  location.hash = hash;"
        "})",
        f"#/{view}",
    )
