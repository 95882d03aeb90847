"""A headless browser for the tests of pages, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.qpopt_torch.report.browser import QUIET, executable


@pytest.fixture(scope="session")
def browser():
    """Start Chromium, if there is one."""
    from playwright.sync_api import sync_playwright  # tests of the core run without it

    with sync_playwright() as running:
        chromium = running.chromium
        path = executable(chromium.executable_path)
        started = chromium.launch(executable_path=path, args=QUIET)
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
