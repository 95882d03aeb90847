"""What the text of a picture shows."""

from __future__ import annotations

import base64
from io import BytesIO

import numpy as np
from PIL import Image


def pixels(text):
    """Return the picture of a data URL."""
    return np.asarray(Image.open(BytesIO(base64.b64decode(text.split(",", 1)[1]))))
