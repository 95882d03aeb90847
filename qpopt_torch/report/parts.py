"""What stands in the page itself, and what is loaded when something of it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PER_PART = 32
"""Samples, or decisions, of one part."""
LATER = ("changes", "level", "order", "lasting", "sets")
"""What only the page of a decision shows of it."""
AT_ONCE = ("label", "pred", "index")

_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", ord("'"): "\\u0027"}


def divided(
    data: Mapping[str, Any], folder: str = ""
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the data that a page needs at once, and the rest in parts.

    Of samples, class and place are needed at once; pictures, maps and values come in parts of
    neighbouring samples, and what would change a decision in parts of neighbouring decisions.

    Parameters
    ----------
    data
        As `contents` gives it.
    folder
        Where the parts are loaded from; empty where they follow the page.
    """
    samples, images = data["samples"], data["images"]
    whole = {key: value for key, value in data.items() if key != "images"}
    whole["samples"] = [[*(s[key] for key in AT_ONCE), s.get("ratio", 0)] for s in samples]
    later = []
    for sample in samples:
        rest = {key: value for key, value in sample.items() if key not in (*AT_ONCE, "ratio")}
        if "image" in rest:
            rest["image"] = images[rest["image"]]
        later.append(rest)
    parts: list[dict[str, Any]] = [
        {"samples": later[i : i + PER_PART]} for i in range(0, len(later), PER_PART)
    ]
    for kind in (each for each in ("wrong", "right") if each in data):
        whole[kind] = []
        for place, entry in enumerate(data[kind]):
            if place % PER_PART == 0:
                parts.append({"decisions": []})
            rest = {key: entry[key] for key in LATER if key in entry}
            parts[-1]["decisions"].append([kind, place, rest])
            kept = {key: value for key, value in entry.items() if key not in LATER}
            whole[kind].append({**kept, "part": len(parts) - 1})
    whole["parts"] = {"size": PER_PART, "samples": len(samples), "folder": folder}
    return whole, parts


def as_json(value: Any) -> str:
    """Return JSON that stands in a script without ending it."""
    return json.dumps(value, separators=(",", ":")).translate(_ESCAPES)
