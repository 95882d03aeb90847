"""Activations in a file: computed once, read in every epoch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from qpopt.io import opened_json, replacing, save_json
from qpopt_torch.data.batches import batch_count, batches
from qpopt_torch.data.inputs import Batch
from qpopt_torch.data.seeding import seeded
from qpopt_torch.errors import TrainingError

NUMBER = 2
"""Bytes of a number."""

Whole = NDArray[np.int64]
Passes = list[tuple[Iterable[Any], tuple[bool, ...]]]

logger = logging.getLogger("qpopt")


class Activations(Dataset[tuple[Tensor, Tensor]]):
    """Activations of samples in several views, in a file that is mapped into memory.

    Parameters
    ----------
    path
        The file, float16.
    shape
        Of one activation.
    rows, labels
        Where every view of every sample is in the file, and its class, views × samples.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], rows: Whole, labels: Whole) -> None:
        self.rows, self.labels = rows, labels
        self.stored = np.memmap(path, np.float16, "r", shape=(rows.size, *shape))

    def __len__(self) -> int:
        return int(self.rows.shape[1])

    def __getitem__(self, which: list[int]) -> tuple[Tensor, Tensor]:
        """Return activations and labels of some samples, each in a view that is drawn."""
        view = torch.randint(len(self.rows), (len(which),)).numpy()
        rows, labels = (values[view, which] for values in (self.rows, self.labels))
        return torch.from_numpy(self.stored[rows]), torch.from_numpy(labels)

    def loader(self, batch_size: int) -> DataLoader[Any]:
        """Return batches of all samples in random order."""
        # Whole batches are taken by their indices, which is faster than one by one.
        members = BatchSampler(RandomSampler(range(len(self))), batch_size, drop_last=False)
        return DataLoader(self, batch_size=None, sampler=members)


def samples_in(loader: Iterable[Any], first: int) -> int | None:
    """Return the most samples that a loader can give, by the size of its first batch."""
    count = batch_count(loader)
    return None if count is None else count * first


def check_size(n_samples: int | None, numbers: int, views: int, max_bytes: float) -> None:
    """Say how large a file will be; raise if that is too large, before it is begun.

    Raises
    ------
    TrainingError
        With both sizes.
    """
    if n_samples is None:
        return
    size = n_samples * numbers * views * NUMBER
    if size > max_bytes:
        raise TrainingError(
            f"The activations would take {size / 1e9:.2f} GB, more than {max_bytes / 1e9:.2f}: cut "
            "the network later (from_layer), keep fewer views, or raise max_bytes."
        )
    logger.info("keeping activations: at most %.2f GB", size / 1e9)


def kept_activations(
    path: Path,
    passes: Passes,
    compute: Callable[[Batch, int], Tensor],
    model: nn.Module,
    n_classes: int,
    *,
    key: str,
    seed: int,
    max_bytes: float,
    repeated: bool,
    progress: bool,
) -> Activations:
    """Compute activations in several passes and keep them in a file, or take those that are there.

    Parameters
    ----------
    path
        The file. Beside it lies a description; without one it is made anew.
    passes
        For each a loader, and for every view of its samples whether that is mirrored.
    compute
        Gives the activations of a batch of inputs and its number.
    model, n_classes, repeated, progress
        As for `batches`.
    key
        What tells these activations from others.
    seed
        Fixes what loaders change at random.
    max_bytes
        Size at which writing stops.

    Raises
    ------
    TrainingError
        If they are too many, or too large for float16.
    """
    about = path.with_suffix(".json")
    if path.exists() and about.exists():
        with opened_json(about, "activations") as known:
            if known["key"] == key:
                logger.info("using the activations in %s", path)
                places = (np.array(known[name], dtype=np.int64) for name in ("rows", "labels"))
                return Activations(path, tuple(known["shape"]), *places)
    rows: list[list[int]] = []
    labels: list[list[int]] = []
    shape: tuple[int, ...] = ()
    n_rows = 0
    with replacing(path) as stream:
        for number, (loader, flips) in enumerate(passes):
            views: list[list[int]] = [[] for _ in flips]
            own: list[int] = []
            with seeded(seed, number, loader):
                reading = batches(
                    *(loader, model, n_classes),
                    repeated=repeated,
                    title="activations",
                    progress=progress,
                )
                for at, (x, y) in enumerate(reading):
                    own += y.tolist()
                    for view, flip in zip(views, flips, strict=True):
                        kept = _half(compute(_mirrored(x) if flip else x, at))
                        shape = kept.shape[1:]
                        view += range(n_rows, n_rows + len(kept))
                        n_rows += len(kept)
                        stream.write(kept.tobytes())
                    if stream.tell() > max_bytes:
                        raise TrainingError(
                            f"The activations take more than {max_bytes / 1e9:.2f} GB: cut the "
                            "network later (from_layer), keep fewer views, or raise max_bytes."
                        )
            rows += views
            labels += [own] * len(flips)
    if len({len(view) for view in rows}) > 1:
        raise TrainingError("The loaders give different numbers of samples.")
    record = {"key": key, "shape": list(shape), "rows": rows, "labels": labels}
    save_json(about, "activations", record)
    return Activations(path, shape, np.array(rows), np.array(labels))


def _mirrored(x: Batch) -> Tensor:
    assert isinstance(x, Tensor)  # a partial run asks for views of images alone
    return x.flip(-1)


def _half(values: Tensor) -> NDArray[np.float16]:
    half = values.half()
    if not torch.isfinite(half).all():
        raise TrainingError(
            "The activations at the cut are not finite in float16; cut the network elsewhere."
        )
    found: NDArray[np.float16] = half.cpu().numpy()
    return found
