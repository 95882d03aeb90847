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

    Parameters
    ----------
    label
        What the error calls it.
    values
        The mapping.
    error
        What to raise if it is no mapping, or holds something that JSON cannot hold.
    """
    try:
        if not isinstance(values, Mapping):
            raise TypeError(f"it is a {type(values).__name__}")
        plain = json.loads(json.dumps(dict(values), default=plain_value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as reason:
        raise error(f"{label} must be a mapping of what JSON can hold: {reason}.") from None
    frozen: Mapping[str, Any] = _frozen(plain)
    return frozen


def plain_value(value: Any) -> Any:
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
