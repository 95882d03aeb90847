"""A browser that studies open pages in, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


@contextmanager
def new_page() -> Iterator[Page | None]:
    """Open an empty page of the Chromium of the system, or of the one that Playwright fetched.

    The block gets None where Playwright is not installed.
    """
    if find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        path = shutil.which("chromium")
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()
