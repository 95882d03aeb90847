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
    model
        A classifier; it runs in evaluation mode and is left as it was.
    loader
        Batches of inputs and labels.
    head
        Its head.
    progress
        Whether to show a progress bar on a terminal.
    """
    core = unwrap(model)
    features: list[Tensor] = []
    labels: list[Tensor] = []
    with observe(core, replace(head, layer=None)) as seen:
        for x, y in batches(loader, core, head.n_classes, title="features", progress=progress):
            core(x)
            features.append(seen.features.float().cpu())
            labels.append(y.cpu())
    return torch.cat(features), torch.cat(labels)
