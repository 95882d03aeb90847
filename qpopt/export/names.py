"""Names of the model, its variables and its constraints."""

from __future__ import annotations

from typing import Any


def title(name: str) -> str:
    """Return the name of an instance in characters that every format takes."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "qpopt"


def label(component: Any) -> str:
    """Return the name of a variable or constraint with its indices, such as w_3_7 for w[3,7]."""
    name: str = component.name
    return name.rstrip("]").replace("[", "_").replace(",", "_")
