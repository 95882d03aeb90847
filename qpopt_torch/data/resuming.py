"""Going on in the middle of a loader, where its order is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    SequentialSampler,
    Subset,
)

from qpopt_torch.data.distributed import repeated_samples
from qpopt_torch.errors import LoaderError


def unknown_order(loader: Iterable[Any]) -> str:
    """Return why a loader may give other batches when it is read again, or an empty text."""
    if isinstance(loader, DataLoader):
        if isinstance(loader.dataset, IterableDataset):
            return "its data set is iterable: it can only be read from its beginning"
        if type(loader.batch_sampler) is not BatchSampler:
            return "it has a batch sampler of its own"
        if not isinstance(loader.sampler, SequentialSampler | DistributedSampler):
            return "it shuffles; pass the samples as they are (statistics_loader)"
    elif not isinstance(loader, Sequence):
        return f"it is a {type(loader).__name__}"
    return ""


def check_known_order(loader: Iterable[Any]) -> None:
    """Raise unless a loader gives the same batches in the same order whenever it is read.

    Raises
    ------
    LoaderError
        If it does not, or nobody can know; it says why.
    """
    if why := unknown_order(loader):
        raise LoaderError(
            f"A pass over this loader cannot go on where it stopped: {why}. Leave checkpoint out, "
            "or pass a DataLoader without shuffle, or a list of batches."
        )


def rest_of(loader: Iterable[Any], n_batches: int) -> Iterable[Any]:
    """Return what a loader gives after so many batches, none of which is read for it.

    Samples that a DistributedSampler repeats are left out.

    Parameters
    ----------
    loader
        One that `check_known_order` lets pass.
    n_batches
        How many were seen.
    """
    if not isinstance(loader, DataLoader):
        assert isinstance(loader, Sequence)
        return loader[n_batches:]
    assert loader.batch_size is not None
    assert isinstance(loader.sampler, Sized)
    seen, end = n_batches * loader.batch_size, len(loader.sampler) - repeated_samples(loader)
    order = list(loader.sampler)[seen:end]
    return DataLoader(
        Subset(loader.dataset, order),
        loader.batch_size,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        drop_last=loader.drop_last,
        worker_init_fn=loader.worker_init_fn,
    )
