"""A network cut in two: what the first layers give is kept, the rest is a network of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    SequentialSampler,
)

from qpopt_torch.data.inputs import Batch
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.network.grids import are_grids, side_by_side
from qpopt_torch.network.head_finder import find_head
from qpopt_torch.network.reading.outputs import logits_of
from qpopt_torch.network.tail import Tail, activations_at
from qpopt_torch.training.activations import Activations, kept_activations

MOST_BYTES = 4e9


class Behind(nn.Module):
    """What lies behind a cut of a network, as a network that takes activations for inputs.

    Parameters
    ----------
    core
        The network.
    x
        Inputs of a real batch.
    name
        The first layer behind the cut.
    """

    def __init__(self, core: nn.Module, x: Tensor, name: str) -> None:
        super().__init__()
        self.core, self.tail = core, Tail(core, x, name)
        for before in self.tail.answers:
            core.get_submodule(before).requires_grad_(False)
        self.layer: str | None = None

    def forward(self, activations: Tensor) -> Tensor:
        """Return the logits."""
        if self.layer is None or self.training:
            return logits_of(self.tail(self.core, activations))
        # Filters that are spread out are slow; grids side by side give the same.
        with side_by_side(self, self.get_submodule(self.layer)):
            return logits_of(self.tail(self.core, activations))

    def split_grids(self, activations: Tensor) -> None:
        """Run finer maps grid by grid from now on, if that gives the same."""
        layer = find_head(self, activations).layer
        if layer is not None and are_grids(
            self, self.get_submodule(layer), lambda: self(activations)
        ):
            self.layer = layer


class Views(Dataset[tuple[Tensor, Tensor]]):
    """Activations of samples, each in one or several views that are kept in files.

    Parameters
    ----------
    views
        Files of the same samples in the same order.
    members
        The samples that count.
    """

    def __init__(self, views: Sequence[Activations], members: NDArray[np.int64]) -> None:
        self.views, self.members = views, members

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, which: list[int]) -> tuple[Tensor, Tensor]:
        """Return activations and labels of some samples, each in a view that is drawn."""
        members = self.members[which]
        drawn = torch.randint(len(self.views), (len(members),)).numpy()
        x = np.empty((len(members), *self.views[0].stored.shape[1:]), np.float16)
        for number, view in enumerate(self.views):
            own = drawn == number
            x[own] = view.stored[view.rows[0, members[own]]]
        return torch.from_numpy(x), torch.from_numpy(self.views[0].labels[0, members])

    def loader(self, batch_size: int, *, shuffle: bool) -> DataLoader[Any]:
        """Return batches of all samples, in random order or as they are."""
        order = (RandomSampler if shuffle else SequentialSampler)(range(len(self)))
        # Whole batches are taken by their indices, which is faster than one by one.
        members = BatchSampler(order, batch_size, drop_last=False)
        return DataLoader(self, batch_size=None, sampler=members)


def kept(
    behind: Behind, loader: Iterable[Any], path: Path, n_classes: int, seed: int, *, mirrored: bool
) -> Activations:
    """Return what reaches the cut for all samples of a loader, computed once and kept in a file.

    Parameters
    ----------
    behind
        Tells the network and the cut.
    loader
        Batches; what it changes at random depends on the seed alone.
    path
        The file.
    n_classes
        The number of classes.
    seed
        Fixes what is random.
    mirrored
        Whether samples are mirrored.
    """
    core, name = behind.core, behind.tail.name

    def compute(batch: Batch, number: int) -> Tensor:
        # What is kept has fewer digits than what is computed.
        with torch.autocast("cpu", torch.bfloat16, enabled=batch.device.type == "cpu"):
            return activations_at(core, batch, name, number).float()

    told = [fingerprint(core, behind.tail.answers), name, mirrored, seed, *_sizes(loader)]
    path.parent.mkdir(parents=True, exist_ok=True)
    return kept_activations(
        path,
        [(loader, (mirrored,))],
        compute,
        core,
        n_classes,
        key=hashlib.sha256(" ".join(map(str, told)).encode()).hexdigest(),
        seed=seed,
        max_bytes=MOST_BYTES,
        repeated=True,
        progress=True,
    )


def _sizes(loader: Iterable[Any]) -> tuple[int, ...]:
    data: Any = getattr(loader, "dataset", ())
    return len(data), *next(iter(loader))[0].shape[1:]


def first_inputs(loader: Iterable[Any]) -> Tensor:
    """Return the inputs of the first batch."""
    x: Tensor = next(iter(loader))[0]
    return x.to(torch.float32)
