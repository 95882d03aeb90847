"""A headless browser for the tests of the page, where there is one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="session")
def browser():
    """Start Chromium: that of the system, or the one that `playwright install` fetched."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        found = next(filter(None, map(shutil.which, BROWSERS)), None)
        if found is None and Path(running.chromium.executable_path).exists():
            found = running.chromium.executable_path
        if found is None:
            pytest.skip("there is no Chromium; install it or run playwright install chromium")
        started = running.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """Return a function that opens a file and fails the test on any message of the console."""
    contexts, complaints = [], []

    def open_(path, *, width=1200, height=800, color_scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=color_scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(request.url)
                if not request.url.startswith(("file:", "data:"))
                else None
            ),
        )
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        page.goto(Path(path).as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
