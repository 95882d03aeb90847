"""A report as a folder: the page, and parts that it loads when it shows something of them."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qpopt import InvalidArgument, InvalidFile
from qpopt.io import replacing
from qpopt_torch.errors import reason
from qpopt_torch.report.parts import as_json, divided
from qpopt_torch.report.rendering import rendered

PAGE = "index.html"
PARTS = re.compile(r"parts-[0-9a-f]{12}")


def check_folder(folder: Path) -> None:
    """Raise unless a report can be written to a folder: it is new, empty or holds a report.

    Raises
    ------
    InvalidArgument
        If it holds something else, which is not mixed with a report.
    InvalidFile
        If it cannot be made or read.
    """
    try:
        folder.mkdir(exist_ok=True)
        found = [each.name for each in folder.iterdir()]
    except OSError as error:
        raise InvalidFile(f"Cannot write {str(folder)!r}: {reason(error)}.") from error
    others = [name for name in found if name != PAGE and not PARTS.fullmatch(name)]
    if others:
        raise InvalidArgument(
            f"{str(folder)!r} holds {sorted(others)[0]!r}, which is of no report."
        )


def write_folder(folder: Path, values: Mapping[str, Any]) -> Path:
    """Write a report and return its page.

    The parts get a folder of their own, named by what they hold, and the page comes last: whatever
    ends the process, the page that is there fits its parts.
    """
    texts = [as_json(part) for part in divided(values["data"])[1]]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
    name = f"parts-{digest}"
    data, _ = divided(values["data"], name)
    try:
        (folder / name).mkdir(exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"Cannot write {str(folder)!r}: {reason(error)}.") from error
    for place, text in enumerate(texts):
        with replacing(folder / name / f"{place}.js") as stream:
            stream.write(f"qpoptPart({place},{text});\n".encode())
    with replacing(folder / PAGE) as stream:
        stream.write(rendered({**values, "data": data}, inside=()).encode())
    for other in folder.iterdir():
        if PARTS.fullmatch(other.name) and other.name != name:
            shutil.rmtree(other)
    return folder / PAGE
