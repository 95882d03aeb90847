"""Whether every process reads samples of its own."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.seeding import seeded
from qpopt_torch.errors import LoaderError


def check_sharded(loader: Iterable[Any]) -> None:
    """Raise, on all ranks, if two of them would read the same samples.

    Nothing is read but a sample or two, and only where there are several processes.

    Raises
    ------
    LoaderError
        If the data of two ranks are the same, and nothing divides them.
    """
    if ranks.active():
        require_different(ranks.on_all(lambda: _identity(loader)))


def require_different(identities: Sequence[str | None]) -> None:
    """Raise if two ranks, by what tells their samples apart, read the same."""
    known = [identity for identity in identities if identity is not None]
    if len(set(known)) < len(known):
        raise LoaderError(
            "Several ranks read the same samples, so all would count more than once; divide them: "
            "DataLoader(dataset, sampler=DistributedSampler(dataset))."
        )


def _identity(loader: Iterable[Any]) -> str | None:
    """Return what tells the data of a loader that reads all of them from others; None otherwise."""
    data: Any = None
    if isinstance(loader, DataLoader):
        plain = type(loader.sampler) in (RandomSampler, SequentialSampler)
        if plain and type(loader.batch_sampler) in (BatchSampler, type(None)):
            data = loader.dataset
    elif isinstance(loader, Sequence):
        data = loader
    if data is None or not len(data):
        return None
    with ranks.alone(), seeded(0, 0, None):  # the same on all ranks, augmentation included
        ends = [digest(data[place]) for place in (0, len(data) - 1)]
    return f"{len(data)} {' '.join(ends)}"


def digest(value: Any) -> str:
    """Return the SHA-256 of a sample or a batch."""
    if isinstance(value, Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        content = f"{value.dtype} {tuple(value.shape)}".encode() + flat.numpy().tobytes()
    elif isinstance(value, Mapping):
        content = "".join(f"{key} {digest(part)}" for key, part in value.items()).encode()
    elif isinstance(value, (tuple, list)):
        content = "".join(map(digest, value)).encode()
    else:
        content = pickle.dumps(value)
    return hashlib.sha256(content).hexdigest()
