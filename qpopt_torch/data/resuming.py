"""Going on in the middle of a loader, where its order is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import islice
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
from qpopt_torch.data.unpacking import Unpacked
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


def rest_of(
    loader: Iterable[Any], n_batches: int, indices: Sequence[int] | None = None
) -> Iterable[Any]:
    """Return what a loader gives after so many batches, none of which is read for it.

    Samples that a DistributedSampler repeats are left out.

    Parameters
    ----------
    loader
        One that `check_known_order` lets pass.
    n_batches
        How many were seen.
    indices
        The samples that a DataLoader gives, if not those of its sampler.
    """
    if not isinstance(loader, DataLoader):
        assert isinstance(loader, Sequence)
        return loader[n_batches:]
    assert loader.batch_size is not None
    assert isinstance(loader.sampler, Sized)
    if indices is None:
        indices = list(loader.sampler)[: len(loader.sampler) - repeated_samples(loader)]
    order = indices[n_batches * loader.batch_size :]
    return DataLoader(
        Subset(loader.dataset, order),
        loader.batch_size,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        drop_last=loader.drop_last,
        worker_init_fn=loader.worker_init_fn,
    )


class _Rest:
    """What a sampler gives after its first members, once something is done.

    Parameters
    ----------
    members
        The sampler.
    skipped
        How many of its members are left out.
    arrived
        Called in front of the first member that is given.
    """

    def __init__(self, members: Iterable[Any], skipped: int, arrived: Callable[[], None]) -> None:
        self.members, self.skipped, self.arrived = members, skipped, arrived

    def __iter__(self) -> Iterator[Any]:
        members = iter(self.members)
        deque(islice(members, self.skipped), maxlen=0)
        self.arrived()
        yield from members


def gone_on(loader: Iterable[Any], n_batches: int, arrived: Callable[[], None]) -> Iterable[Any]:
    """Return what a loader gives after so many batches, shuffled as if they had been read.

    Of a list, and of a DataLoader without workers, the batches before are not read; of others they
    are, as nobody else knows what they would have drawn at random.

    Parameters
    ----------
    loader
        Seeded as when its first batches were read.
    n_batches
        How many that was, at least one.
    arrived
        Called when the loader stands behind them: brings back what is random.
    """
    if isinstance(loader, Unpacked):
        return Unpacked(gone_on(loader.packed, n_batches, arrived), loader.unpack)
    plain = isinstance(loader, DataLoader) and not isinstance(loader.dataset, IterableDataset)
    if isinstance(loader, DataLoader) and plain and not loader.num_workers:
        members: dict[str, Any]
        if loader.batch_sampler is None:
            members = {"batch_size": None, "sampler": _Rest(loader.sampler, n_batches, arrived)}
        else:
            members = {"batch_sampler": _Rest(loader.batch_sampler, n_batches, arrived)}
        return DataLoader(
            loader.dataset,
            collate_fn=loader.collate_fn,
            pin_memory=loader.pin_memory,
            generator=loader.generator,
            **members,
        )

    def rest() -> Iterator[Any]:
        if isinstance(loader, Sequence):
            reading: Iterator[Any] = iter(loader[n_batches:])
        else:
            deque(islice(reading := iter(loader), n_batches), maxlen=0)
        arrived()
        yield from reading

    return rest()
