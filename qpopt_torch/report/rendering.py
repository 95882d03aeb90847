"""The page, from its template, its scripts and what it says."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from qpopt import QpoptError
from qpopt_torch.report.parts import as_json, divided

SCRIPTS = (
    "core",
    "parts",
    "heat",
    "pieces",
    "classes",
    "contrast",
    "truth",
    "features",
    "levels",
    "decisions",
    "map",
    "trace",
    "router",
)
TABS = {
    "overview": "Overview",
    "classes": "Classes",
    "contrast": "Contrast",
    "features": "Features",
    "decisions": "Decisions",
    "map": "Class map",
}
WITHOUT_SUMS = ("overview", "classes", "features")
"""The sections that do not rest on features being plainly added up."""


@dataclass(frozen=True)
class Addition:
    """What a page that is served has more than the file.

    Parameters
    ----------
    tabs
        Further sections, by their names in addresses.
    style, script
        Style sheet and script; the script runs before the page is shown first.
    connects
        Whether it may ask the server that it came from.
    """

    tabs: Mapping[str, str]
    style: str
    script: str
    connects: bool = True


def rendered(
    values: Mapping[str, Any], addition: Addition | None = None, inside: Sequence[str] | None = None
) -> str:
    """Return the page that says some values.

    Parameters
    ----------
    values
        By their names in the template; `data` as `contents` gives it, or only what stands in the
        page itself where `inside` is given.
    addition
        What a page that is served has more.
    inside
        The parts that follow the page, as JSON; without it, those of the data.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise QpoptError("The report needs jinja2: pip install jinja2.") from error

    if inside is None:
        data, later = divided(values["data"])
        values, inside = {**values, "data": data}, [as_json(part) for part in later]
    folder = files("qpopt_torch.report") / "page"

    def asset(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    style = asset("style.css")
    parts = [asset(f"{name}.js") for name in SCRIPTS]
    tabs = {key: name for key, name in TABS.items() if values["plain"] or key in WITHOUT_SUMS}
    if addition is not None:
        style += addition.style
        parts.insert(-1, addition.script)  # before the router, which shows the page
        tabs |= addition.tabs
    joined = "\n".join(parts)
    script = f'(() => {{\n"use strict";\n{joined}\n}})();\n'
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment.from_string(asset("page.html")).render(
        tabs=tabs,
        style=style,
        script=script,
        style_hash=_digest(style),
        script_hash=_digest(script),
        connects=addition is not None and addition.connects,
        parts=inside,
        **values,
    )


def _digest(text: str) -> str:
    """Return the hash by which a page's security policy knows its own code."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
