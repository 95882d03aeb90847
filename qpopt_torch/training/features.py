"""extract: the features of a frozen network, computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> head = qpopt_torch.find_head(model, loader[0][0])
    >>> features, labels = qpopt_torch.extract(model, loader, head, progress=False)
    >>> features.shape, labels.shape
    (torch.Size([40, 12]), torch.Size([40]))
    """
    core = unwrap(model)
    check_sharded(loader)

    return joined(lambda: _parts(core, loader, head, progress))


def joined(own: Callable[[], list[tuple[Tensor, Tensor]]]) -> tuple[Tensor, Tensor]:
    """Return the features and labels that all ranks have, in one piece."""
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
