"""fingerprint: what tells two sets of weights apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import torch
from torch import nn


def fingerprint(model: nn.Module, layers: Iterable[str] | None = None) -> str:
    """Return the SHA-256 of the class of a model and of all its parameters and buffers.

    With `layers`, of those of these layers alone.
    """
    within = None if layers is None else tuple(f"{name}." for name in layers)
    digest = hashlib.sha256(type(model).__name__.encode())
    for name, value in sorted(model.state_dict().items()):
        if within is not None and not name.startswith(within):
            continue
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        # As bytes, because NumPy does not know all types of numbers.
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest.update(flat.numpy().tobytes())
    return digest.hexdigest()
