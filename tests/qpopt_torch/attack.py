"""What every attack must come to: a clear error, or nothing wrong at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from qpopt import QpoptError


def survived(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or the error of ours that it raises, if that is clear.

    Clear is what reads as a few sentences in one line; any other error goes through.
    """
    try:
        return call()
    except QpoptError as error:
        text = str(error)
        assert text.strip(), "an error without words"
        assert "\n" not in text, text
        assert text.rstrip().endswith((".", "?", ")")), text
        assert len(re.findall(r"[.?!] (?=[A-Z])", text)) <= 2, text
        assert len(text) < 700, text
        return error


def refused(call: Callable[[], Any]) -> QpoptError:
    """Return the clear error that a call must raise."""
    found = survived(call)
    assert isinstance(found, QpoptError), f"it was taken: {found!r}"
    return found
