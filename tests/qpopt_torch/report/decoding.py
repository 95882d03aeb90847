"""What a report holds: its text, its data, and what the text of a picture shows."""

from __future__ import annotations

import base64
import json
import re
from io import BytesIO

import numpy as np
from PIL import Image

SCRIPT = r'<script type="application/json" id="{}">(.*?)</script>'


def pixels(text):
    """Return the picture of a data URL."""
    return np.asarray(Image.open(BytesIO(base64.b64decode(text.split(",", 1)[1]))))


def data_of(path):
    """Return the text of a page, and its data with all of its parts, which may be files."""
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(SCRIPT.format("data"), text, re.DOTALL).group(1))
    if folder := data["parts"]["folder"]:
        files = sorted((path.parent / folder).iterdir(), key=lambda file: int(file.stem))
        parts = [re.fullmatch(r"qpoptPart\(\d+,(.*)\);\n", f.read_text()).group(1) for f in files]
    else:
        parts = re.findall(SCRIPT.format(r"part-\d+"), text, re.DOTALL)
    return text, joined(data, [json.loads(part) for part in parts])


def joined(data, parts):
    """Return the data of a page as if it had no parts."""
    whole = dict(data)
    later = [details for part in parts for details in part.get("samples", ())]
    names = ("label", "pred", "index", "ratio")
    whole["samples"] = [
        {**dict(zip(names, first, strict=True)), **rest}
        for first, rest in zip(data["samples"], later, strict=True)
    ]
    shown = [sample for sample in whole["samples"] if "image" in sample]
    whole["images"] = [sample["image"] for sample in shown]
    for place, sample in enumerate(shown):
        sample["image"] = place
    for part in parts:
        for kind, place, details in part.get("decisions", ()):
            whole[kind][place] |= details
    return whole
