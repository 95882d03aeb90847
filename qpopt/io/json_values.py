"""Mappings of plain values: what is kept is what a JSON file would give back, and immutable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from qpopt.errors import QpoptError


def freeze(label: str, values: Any, error: type[QpoptError]) -> Mapping[str, Any]:
    """Copy a mapping through JSON; lists become tuples, so that nothing in it can change.

    The error is raised, naming the label, if it is no mapping or holds what JSON cannot hold.
    """
    try:
        if not isinstance(values, Mapping):
            raise TypeError(f"it is a {type(values).__name__}")
        frozen: Mapping[str, Any] = _frozen(plain(values, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as reason:
        raise error(f"{label} must be a mapping of what JSON can hold: {reason}.") from None
    return frozen


def plain(values: Mapping[str, Any], *, allow_nan: bool = True) -> dict[str, Any]:
    """Return what a JSON file would give back of a mapping, frozen or not."""
    text = json.dumps(dict(values), default=_plain_value, allow_nan=allow_nan)
    result: dict[str, Any] = json.loads(text)
    return result


def _plain_value(value: Any) -> Any:
    """Turn NumPy values and frozen mappings into the plain ones that JSON knows."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(entry) for key, entry in value.items()})
    if isinstance(value, list):
        return tuple(_frozen(entry) for entry in value)
    return value
