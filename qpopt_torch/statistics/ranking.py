"""The exact AUROC of every feature and class, by ranks, for which values lie on disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import nn

from qpopt import InvalidArgument
from qpopt.control.progress import Bar
from qpopt.io import AnyPath
from qpopt.preprocessing import auroc_from_rank_sums
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batches, begin
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import LoaderError, ModelError, path_of, shown
from qpopt_torch.network.head_finder import HeadLike, head_of, split_unpack
from qpopt_torch.network.observation import observe, run, unwrap
from qpopt_torch.statistics.precision import Precision, autocasting, checked_precision

Floats = NDArray[np.float64]


def exact_auroc(
    model: nn.Module,
    loader: Iterable[Any],
    folder: AnyPath,
    *,
    head: HeadLike = None,
    memory: float = 1e9,
    precision: Precision = "auto",
    progress: bool = True,
) -> Floats:
    """Return the area under the ROC curve of every feature as a detector of every class.

    In place of `collect(bins=…)`, which takes 64 times the memory of the sums and counts values
    of one bin as equal. Here the features of all samples lie on disk meanwhile, four bytes each,
    and are ranked one after the other. Hand the result to `Statistics.instance(similarity=…,
    neutral=0.5)`.

    Parameters
    ----------
    model, loader, head, precision, progress
        As in `collect`; one process reads all samples.
    folder
        Where there is room for the features; nothing stays there.
    memory
        Bytes of the features that are held before they are written.

    Returns
    -------
    NDArray
        Classes × features; 0.5 where one class has all samples.

    Raises
    ------
    InvalidInstance
        If a class has no samples.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> import qpopt_torch
    >>> model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(2, 2))
    >>> loader = [(torch.tensor([[1.0, 3], [2, 2], [3, 2]]), torch.tensor([0, 0, 1]))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qpopt_torch.exact_auroc(model, loader, folder, progress=False)
    array([[0.  , 0.75],
           [1.  , 0.25]])
    """
    core, casting = unwrap(model), partial(autocasting, checked_precision(precision))
    if isinstance(memory, bool) or not isinstance(memory, (int, float)) or not memory > 0:
        raise InvalidArgument(f"memory must be a number of bytes above 0, not {shown(memory)}.")
    if ranks.active():
        raise LoaderError("The exact AUROC needs all samples in one process; call it alone.")
    place = path_of(folder, "The folder of the features")
    head, unpack = split_unpack(head)
    loader = unpacked(loader, unpack)
    x, begun = begin(loader, core)
    found = head_of(core, x, head)
    with TemporaryDirectory(dir=place, prefix="features-") as kept:
        chunks = _Chunks(Path(kept), memory)
        with observe(core, replace(found, layer=None)) as seen:
            reading = batches(
                loader, core, found.n_classes, begun=begun, title="features", progress=progress
            )
            for number, (x, y) in enumerate(reading):
                with casting(x.device):
                    run(core, x, number)
                if not seen.features.isfinite().all():
                    raise ModelError(f"The features of batch {number} are not finite.")
                chunks.add(seen.features.float().cpu().numpy(), y.cpu().numpy())
        return chunks.auroc(found.n_classes, progress)


class _Chunks:
    """Features of many samples on disk, so that all values of one feature are read at once."""

    def __init__(self, folder: Path, memory: float) -> None:
        self.folder, self.memory = folder, memory
        self.held: list[NDArray[np.float32]] = []
        self.labels: list[NDArray[np.int32]] = []
        self.files: list[NDArray[np.float32]] = []

    def add(self, features: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
        self.held.append(features)
        self.labels.append(labels.astype(np.int32))
        if sum(part.nbytes for part in self.held) >= self.memory:
            self._write()

    def auroc(self, n_classes: int, progress: bool) -> Floats:
        self._write()
        labels = np.concatenate(self.labels)
        counts = np.bincount(labels, minlength=n_classes)
        sums = np.empty((n_classes, len(self.files[0])))
        with Bar("ranks", sums.shape[1], progress=progress) as bar:
            for d in range(sums.shape[1]):
                values = np.concatenate([part[d] for part in self.files])
                sums[:, d] = np.bincount(labels, rankdata(values), n_classes)
                bar.advance()
        return auroc_from_rank_sums(counts, sums)

    def _write(self) -> None:
        """Put what is held into a file, feature by feature."""
        if self.held:
            path = self.folder / f"{len(self.files)}.npy"
            np.save(path, np.ascontiguousarray(np.concatenate(self.held).T))
            self.files.append(np.load(path, mmap_mode="r"))
            self.held = []
