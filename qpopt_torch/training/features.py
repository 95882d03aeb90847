"""extract: the features of a frozen network, computed once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.data.batches import batches
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import observe, unwrap


def extract(
    model: nn.Module, loader: Iterable[Any], head: Head, *, progress: bool = True
) -> tuple[Tensor, Tensor]:
    """Return what the head receives for every sample, N × features in float32, and the labels.

    Parameters
    ----------
    model, loader, progress
        As in `collect`.
    head
        The head of the model.
    """
    core = unwrap(model)
    parts: list[tuple[Tensor, Tensor]] = []
    with observe(core, replace(head, layer=None)) as seen:
        for x, y in batches(loader, core, head.n_classes, title="features", progress=progress):
            core(x)
            parts.append((seen.features.float().cpu(), y.cpu()))
    features, labels = map(torch.cat, zip(*parts, strict=True))
    return features, labels
