"""Before the site is built, its pictures are drawn, unless nothing changed since they were."""

from __future__ import annotations

import hashlib
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent

SOURCES = ("qpopt", "qpopt_torch", "docs/drawing", "examples/02_digits.py")
"""What pictures come from."""
INSTANCES = "<!-- instances -->"
"""Where a page wants the table of instances."""


def on_pre_build(config: Any) -> None:
    """Draw every picture into the folder of the site's sources."""
    folder = Path(config["docs_dir"]) / "pictures"
    folder.mkdir(exist_ok=True)
    now = state()
    for page in ("problem", "demands", "solving", "reading"):
        stamp = folder / f".{page}"
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != now:
            module(page).draw(folder)
            stamp.write_text(now, encoding="utf-8")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table of instances where a page asks for it."""
    if INSTANCES not in markdown:
        return markdown
    return markdown.replace(INSTANCES, module("library").table())


def module(name: str) -> Any:
    """Return a module of what is drawn, which is in no package that is installed."""
    for place in (str(ROOT), str(HERE)):
        if place not in sys.path:
            sys.path.insert(0, place)
    return import_module(f"drawing.{name}")


def state() -> str:
    """Return what tells whether anything changed that pictures come from."""
    found = hashlib.sha256()
    for source in SOURCES:
        place = ROOT / source
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(file.read_bytes())
    return found.hexdigest()
