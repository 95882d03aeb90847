"""The browser that opens the report."""

from tests.pages import browser, open_page

__all__ = ["browser", "open_page"]
