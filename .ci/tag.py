"""Raise unless a tag is that of the version: `python .ci/tag.py v1.2.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

VERSION = Path(__file__).parents[1] / "qpopt" / "_version.py"


def main(tag: str) -> None:
    """Compare a tag with the version that this checkout has."""
    found = re.search(r'__version__ = "(.+)"', VERSION.read_text(encoding="utf-8"))
    if found is None or tag != f"v{found[1]}":
        raise SystemExit(f"The tag is {tag}, the version {found and found[1]}; raise one of them.")


if __name__ == "__main__":
    main(sys.argv[1])
