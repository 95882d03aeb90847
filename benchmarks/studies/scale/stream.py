"""Data of any size that is made when it is asked for, and networks that cost next to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Sampler

BLOCK = 4096
"""Samples that are kept; all others are made of them."""
CHANNELS, SIDE = 16, 7
"""What a network with maps takes, and what its maps measure: those of a ResNet50."""


class Stream(Dataset[Any]):
    """Samples that depend on nothing but their place, and need memory for a few thousand.

    Parameters
    ----------
    n_samples, n_classes
        How many there are.
    shape
        Of a sample.
    """

    def __init__(self, n_samples: int, n_classes: int, shape: Sequence[int]) -> None:
        self.n_samples, self.n_classes = n_samples, n_classes
        generator = torch.Generator().manual_seed(0)
        self.block = torch.randn(min(BLOCK, n_samples), *shape, generator=generator)

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        x, y = self.__getitems__([place])
        return x[0], int(y)

    def __getitems__(self, places: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the samples at some places as one batch."""
        at = torch.as_tensor(places)
        x = self.block[at % len(self.block)]
        # Every time round they are a little larger, so that no two are the same.
        x += 1e-4 * (at // len(self.block)).reshape(-1, *[1] * (x.ndim - 1))
        return x, at % self.n_classes


def as_it_is(batch: Any) -> Any:
    """Return a batch that needs no putting together."""
    return batch


def loader_of(stream: Stream, batch_size: int, sampler: Sampler[int] | None = None) -> Any:
    """Return a loader of a stream, in order."""
    return DataLoader(stream, batch_size, sampler=sampler, collate_fn=as_it_is)


def plain_case(features: int, classes: int) -> tuple[nn.Module, tuple[int, ...]]:
    """Return a network that is hardly more than its head, and the shape of its samples."""
    torch.manual_seed(0)
    return nn.Sequential(nn.ReLU(), nn.Linear(features, classes)).eval(), (features,)


def mapped_case(features: int, classes: int) -> tuple[nn.Module, tuple[int, ...]]:
    """Return a network of feature maps and a head, and the shape of its samples."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(CHANNELS, features, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(features, classes),
    )
    return network.eval(), (CHANNELS, SIDE, SIDE)


CASES = {"sums": plain_case, "maps": mapped_case}
