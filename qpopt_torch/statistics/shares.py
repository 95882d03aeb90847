"""Who of several processes sees which samples of a pass, however many there were before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler


class Turn(NamedTuple):
    """Some processes that shared what was left of a pass, until they were ended.

    Parameters
    ----------
    ranks
        How many there were: each took every so manieth sample.
    batch
        Samples of their batches.
    done
        Batches of each that were saved.
    """

    ranks: int
    batch: int
    done: tuple[int, ...]


class Order(NamedTuple):
    """The samples of a loader in the order in which a single process would see them.

    Parameters
    ----------
    indices
        Of its data set.
    batch
        Samples of a batch.
    """

    indices: NDArray[np.int64]
    batch: int

    @classmethod
    def of(cls, loader: Iterable[Any]) -> Order | None:
        """Return the order of a loader; None where processes do not divide it by a known rule."""
        if not isinstance(loader, DataLoader) or loader.batch_size is None or loader.drop_last:
            return None
        sampler = loader.sampler
        if isinstance(sampler, SequentialSampler):
            return cls(np.arange(len(sampler)), loader.batch_size)
        if not isinstance(sampler, DistributedSampler) or sampler.drop_last:
            return None
        alone: DistributedSampler[Any] = DistributedSampler(
            sampler.dataset, 1, 0, sampler.shuffle, sampler.seed
        )
        alone.set_epoch(sampler.epoch)
        return cls(np.array(list(alone), dtype=np.int64), loader.batch_size)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the order."""
        return sha256(self.indices.tobytes()).hexdigest()

    def share(self, turns: Sequence[Turn], rank: int, ranks: int) -> NDArray[np.int64]:
        """Return what one of several processes sees after some turns, its own turn as a whole."""
        left = self.indices
        for turn in turns:
            seen = np.zeros(len(left), dtype=bool)
            for place, batches in enumerate(turn.done):
                seen[place :: turn.ranks][: batches * turn.batch] = True
            left = left[~seen]
        return left[rank::ranks]
