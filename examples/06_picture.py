"""Pictures of the report's contrast of two classes, for light and for dark pages.

You will see two files of one picture, which a browser that is light or dark chooses between:

    python examples/06_picture.py demo/report.html "FIRST CLASS" "SECOND CLASS" --out docs/pictures

Needs `pip install playwright` and Chromium, that of the system or of `playwright install chromium`.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

WIDTH, HEIGHT, SCALE = 1060, 900, 1.25
"""Of what is shown, in pixels of the page, and how many pixels of the picture are one of these."""
MARGIN = 12
"""Around the table, in pixels of the page."""
COLOURS = 256
"""A palette of as many colours keeps the file small."""
NAMES = ("chromium", "chromium-browser", "google-chrome")


def contrast_page(browser: Browser, report: Path, classes: list[str], scheme: str) -> Page:
    """Return the report, in light or dark colours, with two classes side by side."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme=scheme
    )
    page.goto(f"{report.resolve().as_uri()}#/contrast")
    for place, name in zip(("first", "second"), classes, strict=True):
        page.locator(f"#contrast-{place}").select_option(label=name)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_load_state()
    return page


def main() -> None:
    """Photograph one contrast twice."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("report", type=Path, metavar="REPORT")
    arguments.add_argument("classes", nargs=2, metavar="CLASS")
    arguments.add_argument("--out", type=Path, default=Path("docs/pictures"))
    given = arguments.parse_args()
    if not given.report.is_file():
        arguments.error(f"there is no file {given.report}")
    given.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        system = next(filter(None, map(shutil.which, NAMES)), None)
        browser = playwright.chromium.launch(executable_path=system, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = contrast_page(browser, given.report, given.classes, scheme)
            # Only what tells the two apart: what they share comes below.
            box = page.locator("#panel-contrast table.contrast").first.bounding_box()
            assert box is not None
            clip = {"x": box["x"] - MARGIN, "y": box["y"] - MARGIN}
            clip["width"] = min(box["width"], WIDTH - box["x"]) + 2 * MARGIN
            clip["height"] = min(box["height"], HEIGHT) + 2 * MARGIN
            picture = Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=True)))
            path = given.out / f"twins-{scheme}.png"
            picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
            print(f"{path}, {path.stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
