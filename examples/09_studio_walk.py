"""A walk through the studio, as pictures.

You will see four steps of steering, light and dark: a feature is excluded on its page, the problem
is solved again, what changed is compared, and a picture of one's own is decided. `make studio`
opens a studio and prints its address:

    python examples/09_studio_walk.py ADDRESS --picture own.png --out docs/pictures

Needs `pip install playwright` and Chromium, that of the system or of `playwright install chromium`.
"""

from __future__ import annotations

import argparse
import io
import shutil
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

WIDTH, HEIGHT = 1100, 760
"""Of what is shown, in pixels of the page."""
COLOURS = 128
"""A palette of as many colours keeps the files small."""
PATIENCE = 120_000
"""Milliseconds until an answer must be there."""
NAMES = ("chromium", "chromium-browser", "google-chrome")


def exclude(page: Page, feature: int) -> None:
    """Say on its page that a feature shall not be used."""
    page.goto(f"{page.url.partition('#')[0]}#/feature/{feature}")
    page.get_by_role("button", name="Exclude").click()
    page.get_by_text("among the demands").wait_for()


def solve(page: Page) -> None:
    """Solve again, and wait until it is known what the answer is worth."""
    page.get_by_role("tab", name="Steer").click()
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_text("What changed from").wait_for()
    page.locator("svg.bars").get_by_text("Random").wait_for()
    page.get_by_role("row", name="Accuracy").wait_for()
    page.get_by_role("button", name="Stop").wait_for(state="hidden")


def compare(page: Page) -> None:
    """Show the answer beside the model."""
    page.get_by_role("tab", name="Steer").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("tabpanel", name="Compare").get_by_text("Random assignment").wait_for()


def decide(page: Page, picture: Path) -> None:
    """Show what the model says of a picture."""
    page.get_by_role("tab", name="Own picture").click()
    page.locator("#own-file").set_input_files(picture)
    page.get_by_text("It is taken for").wait_for()


def walk(browser: Browser, given: argparse.Namespace, scheme: str) -> None:
    """Go through all steps in one colour scheme, and photograph each."""
    size = {"width": WIDTH, "height": HEIGHT}
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    page.goto(given.address)
    steps: dict[str, Callable[[], None]] = {
        "exclude": lambda: exclude(page, given.feature),
        "solve": lambda: solve(page),
        "compare": lambda: compare(page),
    }
    if given.picture is not None:
        steps["own"] = lambda: decide(page, given.picture)
    for number, (name, step) in enumerate(steps.items(), start=1):
        step()
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        path = given.out / f"studio-{number}-{name}-{scheme}.png"
        photograph = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        photograph.quantize(COLOURS).save(path, optimize=True)
        print(f"{path}, {path.stat().st_size / 1000:.0f} kB")
    # The next walk begins where this one began.
    page.get_by_role("tab", name="Steer").click()
    page.get_by_role("button", name="Go back").first.click()
    page.close()


def main() -> None:
    """Walk twice, through a light and through a dark page."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("address", metavar="ADDRESS")
    arguments.add_argument("--feature", type=int, default=3, help="its place on the page")
    arguments.add_argument("--picture", type=Path, help="a picture of one's own")
    arguments.add_argument("--out", type=Path, default=Path("docs/pictures"))
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        system = next(filter(None, map(shutil.which, NAMES)), None)
        browser = playwright.chromium.launch(executable_path=system, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            walk(browser, given, scheme)
        browser.close()


if __name__ == "__main__":
    main()
