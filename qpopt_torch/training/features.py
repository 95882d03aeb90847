"""extract: the features of a frozen network, computed once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batches
from qpopt_torch.data.sharding import check_sharded
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import observe, run, unwrap


def extract(
    model: nn.Module, loader: Iterable[Any], head: Head, *, progress: bool = True
) -> tuple[Tensor, Tensor]:
    """Return what the head receives for every sample, N × features in float32, and the labels.

    Under an initialised torch.distributed group every rank reads its own loader and gets the
    features of all.

    Parameters
    ----------
    model, loader, progress
        As in `collect`.
    head
        The head of the model.
    """
    core = unwrap(model)
    check_sharded(loader)

    def own() -> list[tuple[Tensor, Tensor]]:
        return _parts(core, loader, head, progress)

    parts = [part for own_parts in ranks.on_all(own) for part in own_parts]
    features, labels = map(torch.cat, zip(*parts, strict=True))
    return features, labels


def _parts(
    core: nn.Module, loader: Iterable[Any], head: Head, progress: bool
) -> list[tuple[Tensor, Tensor]]:
    parts: list[tuple[Tensor, Tensor]] = []
    with observe(core, replace(head, layer=None)) as seen:
        reading = batches(loader, core, head.n_classes, title="features", progress=progress)
        for number, (x, y) in enumerate(reading):
            run(core, x, number)
            parts.append((seen.features.float().cpu(), y.cpu()))
    return parts
