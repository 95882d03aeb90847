"""In which precision a network runs where it is only looked at."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch

from qpopt import InvalidArgument
from qpopt_torch.errors import shown

Precision = Literal["auto", "float32", "bfloat16"]


def checked_precision(precision: Any) -> Precision:
    """Return a precision, or say what it may be."""
    known = get_args(Precision)
    if not isinstance(precision, str) or precision not in known:
        raise InvalidArgument(f"precision must be {', '.join(known)}, not {shown(precision)}.")
    found: Precision = precision  # type: ignore[assignment]
    return found


def autocasting(precision: Precision, device: torch.device) -> torch.autocast:
    """Return the context in which a network on a device runs in a precision.

    float16 is not among them: its range is too small for the features of some networks.
    """
    able = device.type == "cuda" and torch.cuda.is_bf16_supported()
    lower = precision == "bfloat16" or (precision == "auto" and able)
    return torch.autocast(device.type, torch.bfloat16, enabled=lower)
