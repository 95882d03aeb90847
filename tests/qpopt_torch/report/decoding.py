"""What the text of a picture shows."""

from __future__ import annotations

import base64
import json
import re
from io import BytesIO

import numpy as np
from PIL import Image


def pixels(text):
    """Return the picture of a data URL."""
    return np.asarray(Image.open(BytesIO(base64.b64decode(text.split(",", 1)[1]))))


def data_of(path):
    """Return the text of a page, and its data."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return text, json.loads(found.group(1))
