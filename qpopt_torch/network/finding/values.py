"""Believing values alone: what agrees, and what random values in its place show."""

from __future__ import annotations

import torch
from torch import Tensor

from qpopt_torch.network.observation import Call

SHOWN = 8
"""Candidates that an error lists."""


def random_like(values: Tensor) -> Tensor:
    """Return values from −1 to 1 in the place of others, the same ones every time."""
    generator = torch.Generator().manual_seed(0)
    return (2 * torch.rand(values.shape, generator=generator) - 1).to(values)


def close(a: Tensor, b: Tensor, dtype: torch.dtype | None = None) -> bool:
    """Whether two tensors agree up to the rounding of their precision."""
    if a.shape != b.shape:
        return False
    dtype = dtype or b.dtype
    tolerance = {torch.float64: 1e-9, torch.float32: 1e-4}.get(dtype, 8 * torch.finfo(dtype).eps)
    scale = float(b.abs().max())
    return float((a.double() - b.double()).abs().max()) <= tolerance * max(scale, 1e-30)


def shapes(call: Call) -> str:
    """Say what went into a module and what came out."""
    received = "?" if call.received is None else tuple(call.received.shape)
    return f"{received} → {tuple(call.output.shape)}"
