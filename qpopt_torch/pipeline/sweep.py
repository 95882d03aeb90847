"""sweep: how accuracy falls as a model becomes more compact."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from math import log
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from qpopt import InfeasibleInstance, Instance, Solution
from qpopt.control import OnEvent, Phase
from qpopt.control.progress import Bar
from qpopt.io import AnyPath
from qpopt_torch.data.batches import require_rereadable
from qpopt_torch.data.class_names import checked_class_names
from qpopt_torch.data.telling import spoken
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import TrainingError, shown
from qpopt_torch.metrics.accuracy import Accuracy
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.network.head import Head
from qpopt_torch.network.head_finder import HeadLike, split_unpack
from qpopt_torch.network.observation import unwrap
from qpopt_torch.pipeline.arguments import (
    check_count,
    checked_options,
    checked_wishes,
    split_kind,
    teller,
    with_finer_maps,
)
from qpopt_torch.pipeline.first_look import first_look
from qpopt_torch.pipeline.run_folder import SWEEP, RunFolder, plain_values
from qpopt_torch.pipeline.sparse_model import measured_value
from qpopt_torch.pipeline.sparsify import solved, statistics_for
from qpopt_torch.pipeline.sweep_result import Sweep, SweepPoint
from qpopt_torch.sparse.sparse_head import SparseHead, fewer_features
from qpopt_torch.statistics.statistics import Statistics
from qpopt_torch.training.adapter_training import train_adapter
from qpopt_torch.training.features import extract
from qpopt_torch.training.settings import AdapterTraining, FineTuning, training_settings

TIME_LIMIT = 20.0

logger = logging.getLogger("qpopt")


@spoken
def sweep(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_select: Sequence[int],
    n_per_class: Sequence[int],
    val_loader: Iterable[Any] | None = None,
    statistics_loader: Iterable[Any] | None = None,
    training: AdapterTraining | Literal["frozen"] | None = "frozen",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    prepare: Mapping[str, Any] | None = None,
    solve: Mapping[str, Any] | None = None,
    head: HeadLike = None,
    class_names: Sequence[str] | None = None,
    out: AnyPath | None = None,
    progress: bool | OnEvent = True,
) -> Sweep:
    """Sparsify a model for all combinations of counts, on its frozen features.

    Statistics and features are computed once. Every solve starts from the solution of the nearest
    combination that is done, and takes 20 seconds at most unless `solve` has a `time_limit`.

    Parameters
    ----------
    model, loader, include, exclude, prepare, solve, head, class_names
        As in `sparsify`.
    n_select, n_per_class
        The counts to combine. Combinations without a solution are left out with a warning.
    val_loader
        Batches on which the accuracy is measured; the training batches without it.
    statistics_loader
        The training samples as they are, in place of those of `loader`.
    training
        How the adapter of every model is trained; None trains nothing.
    out
        A directory for the points. A second call with the same directory, model and batches takes
        from it what is done.
    progress
        Whether to show progress, on a terminal or in lines of the logger `qpopt`; or a function
        that is told of every combination.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> found = qpopt_torch.sweep(
    ...     model, loader, n_select=[4, 6], n_per_class=[2], training=None, progress=False
    ... )
    >>> [(point.n_select, point.n_per_class) for point in found.points]
    [(4, 2), (6, 2)]
    """
    tell, shown = teller(progress), progress is True
    settings = training_settings(training)
    if isinstance(settings, FineTuning):
        raise TrainingError("sweep works on frozen features: training must be frozen or None.")
    pairs = _pairs(n_select, n_per_class)
    core, names = unwrap(model), checked_class_names(class_names)
    head, kind = split_kind(head)
    head, unpack = split_unpack(head)
    loader, val_loader = unpacked(loader, unpack), unpacked(val_loader, unpack)
    statistics_loader = unpacked(statistics_loader, unpack)
    preparing, solving = checked_options(core, prepare, solve, head, "start")
    solving.setdefault("time_limit", TIME_LIMIT)
    plain = loader if statistics_loader is None else statistics_loader
    given = {"The loader": plain, "val_loader": val_loader}
    loaders = {name: data for name, data in given.items() if data is not None or data is plain}
    for name, data in loaders.items():
        require_rereadable(data, name, "sweep reads it several times")
    preparing |= checked_wishes(max(k for k, _ in pairs), 1, include, exclude)
    folder = None if out is None else RunFolder(out)
    core, head = with_finer_maps(core, plain, head)
    found, _ = first_look(core, plain, head, names, loaders, preparing)
    statistics = statistics_for(
        preparing, solving, core, plain, head=found, class_names=names, progress=shown
    )
    stored = None if folder is None else folder.path / SWEEP
    if folder is not None:
        call = {
            "sweep of the model": fingerprint(core),
            "head": found,
            "class_names": names,
            **kind,
        }
        call["finer_maps"] = getattr(core, "finer_maps", None)
        statistics = folder.open(plain_values(call), statistics)
    before = Sweep.load(stored) if stored is not None and stored.exists() else None
    frozen = _FrozenNetwork(core, statistics, plain, val_loader, settings, kind, shown)
    known = {} if before is None else {point.key: point for point in before.points}
    dense_accuracy = frozen.dense_accuracy if before is None else before.dense_accuracy
    points: list[SweepPoint] = []
    with Bar("sweep", len(pairs), progress=shown) as bar:
        for k, p in pairs:
            try:
                instance = statistics.instance(k, p, **preparing)
            except InfeasibleInstance as error:
                logger.warning("left out n_select=%d, n_per_class=%d: %s", k, p, error)
                continue
            key = _key(instance, settings, solving)
            if key not in known:
                known[key] = frozen.point(instance, points, solving, key)
                if stored is not None:
                    Sweep(tuple(known.values()), dense_accuracy).save(stored)
            points.append(known[key])
            note = f"n_select {k}  n_per_class {p}  accuracy {known[key].accuracy:.4f}"
            bar.advance(note)
            if shown:
                logger.info(note)
            tell(Phase.SOLVE, note)
    if not points:
        raise TrainingError("No combination of n_select and n_per_class has a solution.")
    return Sweep(tuple(points), dense_accuracy)


def _pairs(n_select: Sequence[int], n_per_class: Sequence[int]) -> list[tuple[int, int]]:
    """Return all combinations of the counts, rising, if these are such."""
    for label, counts in (("n_select", n_select), ("n_per_class", n_per_class)):
        if isinstance(counts, str) or not isinstance(counts, Iterable) or not tuple(counts):
            raise TrainingError(
                f"{label} must be a list of at least one count, not {shown(counts)}."
            )
        for count in counts:
            check_count(label, count)
    return sorted(set(product(n_select, n_per_class)))


@dataclass
class _FrozenNetwork:
    """What the points of one sweep share; features are computed when a point needs them."""

    model: nn.Module
    statistics: Statistics
    loader: Iterable[Any]
    val_loader: Iterable[Any] | None
    training: AdapterTraining | None
    kind: Mapping[str, Any]
    progress: bool

    @property
    def head(self) -> Head:
        assert self.statistics.head is not None
        return self.statistics.head

    @cached_property
    def train_set(self) -> tuple[Tensor, Tensor]:
        return extract(self.model, self.loader, self.head, progress=self.progress)

    @cached_property
    def val_set(self) -> tuple[Tensor, Tensor]:
        if self.val_loader is None:
            return self.train_set
        return extract(self.model, self.val_loader, self.head, progress=self.progress)

    @cached_property
    def dense_accuracy(self) -> float:
        features, labels = self.val_set
        module: Any = self.head.modules(self.model)[0]
        with torch.no_grad():
            weight = module.weight.flatten(1).float().cpu()
            bias = None if module.bias is None else module.bias.float().cpu()
            return Accuracy.of(F.linear(features, weight, bias), labels)

    def point(
        self, instance: Instance, done: Sequence[SweepPoint], solving: dict[str, Any], key: str
    ) -> SweepPoint:
        start = start_from(instance, done)
        solution = solved(instance, {**solving, "start": start, "progress": False})
        assert solution.objective is not None
        assert solution.selection is not None
        return SweepPoint(
            instance.n_select,
            instance.n_per_class,
            solution.objective,
            solution.bound,
            solution.gap,
            self._accuracy(solution),
            solution.seconds,
            tuple(solution.selection.tolist()),
            key,
        )

    def _accuracy(self, solution: Solution) -> float:
        scale = self.statistics.mean, self.statistics.std
        head = SparseHead.from_solution(solution, *scale, **self.kind)
        if self.kind.get("class_bias") is None and fewer_features(head.assignment).any():
            features, labels = self.train_set
            with torch.no_grad():
                values = head.eval().normalise(head.select(features))
            bias = measured_value(head.assignment, values, labels)
            head = SparseHead.from_solution(solution, *scale, **{**self.kind, "class_bias": bias})
        if self.training is not None:
            train_adapter(head, *self.train_set, self.training, progress=False)
        features, labels = self.val_set
        with torch.no_grad():
            return Accuracy.of(head.eval()(features), labels)


def start_from(instance: Instance, done: Sequence[SweepPoint]) -> NDArray[np.int64] | None:
    """Return a selection to start from: that of the nearest point, cut or filled up.

    Features are dropped and added by what they are worth beside those that stay: their similarity
    to all classes and their bias, less their redundancy.
    """
    if not done:
        return None
    k, p = instance.n_select, instance.n_per_class

    def distance(point: SweepPoint) -> float:
        return abs(log(point.n_select / k)) + abs(log(point.n_per_class / p))

    chosen = list(min(done, key=distance).selection)
    worth = np.maximum(instance.A, 0).sum(axis=0) + instance.b
    while len(chosen) != k:
        values = worth - instance.R[:, chosen].sum(axis=1)
        if len(chosen) > k:
            free = [d for d in chosen if d not in instance.included]
            chosen.remove(min(free, key=lambda d: values[d]))
        else:
            values[[*chosen, *instance.excluded]] = -np.inf
            chosen.append(int(values.argmax()))
    return np.array(sorted(chosen), dtype=np.int64)


def _key(instance: Instance, training: AdapterTraining | None, solving: dict[str, Any]) -> str:
    settings = None if training is None else asdict(training)
    text = json.dumps([instance.fingerprint, settings, solving], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()
