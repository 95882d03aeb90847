"""Before the site is built, its pictures are drawn, unless nothing changed since they were."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

SOURCES = ("qpopt", "qpopt_torch", "docs/drawing", "examples/02_digits.py")
"""What pictures come from."""


def on_pre_build(config: Any) -> None:
    """Draw every picture into the folder of the site's sources."""
    folder = Path(config["docs_dir"]) / "pictures"
    folder.mkdir(exist_ok=True)
    stamp, now = folder / ".drawn", state()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == now:
        return
    from drawing import problem, reading, solving

    for page in (problem, solving, reading):
        page.draw(folder)
    stamp.write_text(now, encoding="utf-8")


def state() -> str:
    """Return what tells whether anything changed that pictures come from."""
    found = hashlib.sha256()
    for source in SOURCES:
        place = ROOT / source
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(file.read_bytes())
    return found.hexdigest()
