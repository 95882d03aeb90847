"""Checks of arguments; each error names the argument, its value and what is expected."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf, isfinite, isnan
from numbers import Integral, Real
from typing import Any

from qpopt.errors import InvalidArgument


def number(label: str, value: Any, *, least: float = -inf, finite: bool = True) -> float:
    """Return a number of at least `least`, infinite ones only where allowed."""
    plain = isinstance(value, Real) and not isinstance(value, bool)
    if not plain or isnan(value) or value < least or (finite and not isfinite(value)):
        kind = "a finite number" if finite and least == -inf else "a number"
        at_least = "" if least == -inf else f" of at least {least:g}"
        raise InvalidArgument(f"{label} must be {kind}{at_least}, not {value!r}.")
    return float(value)


def whole_number(label: str, value: Any, *, least: int) -> int:
    """Return a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidArgument(f"{label} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def one_of(label: str, value: Any, known: Sequence[str]) -> str:
    """Return one of the known words."""
    if not isinstance(value, str) or value not in known:
        raise InvalidArgument(f"{label} must be one of {', '.join(known)}, not {value!r}.")
    return value


def yes_or_no(label: str, value: Any) -> bool:
    """Return a truth value; numbers and words are not taken for one."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{label} must be True or False, not {value!r}.")
    return value


def path(label: str, value: Any) -> str | os.PathLike[str]:
    """Return the name of a file."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidArgument(f"{label} must be the path of a file, not {value!r}.")
    return value
