"""sweep: how accuracy falls as a model becomes more compact."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cached_property
from math import log
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from qpopt import InfeasibleInstance, Instance, InvalidFile, InvalidSolution, Solution
from qpopt.methods.solve import solve
from qpopt_torch.data.batches import require_rereadable
from qpopt_torch.errors import TrainingError
from qpopt_torch.network.observation import unwrap
from qpopt_torch.pipeline.sweep_result import Point, Sweep
from qpopt_torch.sparse.classifier import SparseHead
from qpopt_torch.statistics.collect import collect
from qpopt_torch.statistics.statistics import BiasLike, Statistics
from qpopt_torch.training.adapter_training import extract, train_adapter
from qpopt_torch.training.settings import AdapterTraining

FILE = "sweep.json"

logger = logging.getLogger("qpopt")


def sweep(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_select: Sequence[int],
    n_per_class: Sequence[int],
    val_loader: Iterable[Any] | None = None,
    adapter: AdapterTraining | Literal["none"] | None = None,
    head: nn.Module | str | None = None,
    feature_layer: nn.Module | str | None = None,
    similarity: Literal["pearson", "auroc"] = "pearson",
    bias: BiasLike = "locality",
    bias_scale: float = 10**-0.5,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = 20.0,
    seed: int = 0,
    out: str | PathLike[str] | None = None,
    progress: bool = True,
) -> Sweep:
    """Sparsify a model for all combinations of counts, on its frozen features.

    Statistics and features are computed once. Every solve starts from the solution of the nearest
    combination that is done.

    Parameters
    ----------
    model
        The trained classifier; it is not changed.
    loader
        Training batches of inputs and labels.
    n_select, n_per_class
        The counts to combine. Combinations without a solution are left out with a warning.
    val_loader
        Batches on which the accuracy is measured; the training batches without it.
    adapter
        How the adapter of every model is trained; `none` trains nothing.
    head, feature_layer, similarity, bias, bias_scale, include, exclude, method, solver
        As in `sparsify`.
    time_limit
        Seconds of each solve.
    seed
        Seed of the solves.
    out
        A directory for the points. A second call with the same directory, model and batches takes
        from it what is done.
    progress
        Whether to show progress on a terminal.
    """
    require_rereadable(loader, "The loader", "sweep reads it several times")
    if not n_select or not n_per_class:
        raise TrainingError("sweep needs at least one n_select and one n_per_class.")
    if isinstance(adapter, str) and adapter != "none":
        raise TrainingError(f"adapter must be settings or none, not {adapter!r}.")
    training = None if adapter == "none" else adapter or AdapterTraining()
    bins = 64 if similarity == "auroc" else 0
    statistics = collect(
        model, loader, head=head, feature_layer=feature_layer, bins=bins, progress=progress
    )
    prepared: dict[str, Any] = {
        "similarity": similarity,
        "bias": bias,
        "bias_scale": bias_scale,
        "include": tuple(include),
        "exclude": tuple(exclude),
    }
    solving = {"method": method, "solver": solver, "time_limit": time_limit, "seed": seed}
    run = _Run(model, loader, val_loader or loader, statistics, training, progress)
    stored = None if out is None else Path(out) / FILE
    before = None if stored is None else _done(stored)
    known = {} if before is None else {point.key: point for point in before.points}
    dense_accuracy = run.dense_accuracy if before is None else before.dense_accuracy
    points: list[Point] = []
    pairs = [(k, p) for k in sorted(set(n_select)) for p in sorted(set(n_per_class))]
    for k, p in tqdm(pairs, desc="sweep", disable=None if progress else True):
        try:
            instance = statistics.instance(k, p, **prepared)
        except InfeasibleInstance as error:
            logger.warning("left out n_select=%d, n_per_class=%d: %s", k, p, error)
            continue
        key = _key(instance, training, solving)
        if key not in known:
            known[key] = run.point(instance, points, solving, key)
            if stored is not None:
                Sweep(tuple(known.values()), dense_accuracy).save(stored)
        points.append(known[key])
    if not points:
        raise TrainingError("No combination of n_select and n_per_class has a solution.")
    return Sweep(tuple(points), dense_accuracy)


class _Run:
    """What the points of one sweep share; features are computed when a point needs them."""

    def __init__(
        self,
        model: nn.Module,
        loader: Iterable[Any],
        val_loader: Iterable[Any],
        statistics: Statistics,
        training: AdapterTraining | None,
        progress: bool,
    ) -> None:
        assert statistics.head is not None
        self.statistics, self.training = statistics, training
        self.model, self.head, self.progress = unwrap(model), statistics.head, progress
        self.loaders = {"train": loader, "val": val_loader}
        self.kept: dict[str, tuple[Tensor, Tensor]] = {}

    def features(self, kind: str) -> tuple[Tensor, Tensor]:
        if kind not in self.kept:
            same = self.loaders["train"] is self.loaders["val"] and self.kept
            self.kept[kind] = (
                next(iter(self.kept.values()))
                if same
                else extract(self.model, self.loaders[kind], self.head, progress=self.progress)
            )
        return self.kept[kind]

    @cached_property
    def dense_accuracy(self) -> float:
        features, labels = self.features("val")
        module: Any = self.head.modules(self.model)[0]
        with torch.no_grad():
            weight = module.weight.flatten(1).float().cpu()
            bias = None if module.bias is None else module.bias.float().cpu()
            return _share(F.linear(features, weight, bias), labels)

    def point(
        self, instance: Instance, done: Sequence[Point], solving: dict[str, Any], key: str
    ) -> Point:
        solution = solve(instance, start=start_from(instance, done), progress=False, **solving)
        if not solution.found or solution.objective is None or solution.selection is None:
            raise InvalidSolution(
                f"No selection of {instance.n_select} features was found: the solve ended "
                f"{solution.status}. Give it more time with time_limit."
            )
        return Point(
            instance.n_select,
            instance.n_per_class,
            solution.objective,
            solution.bound,
            self._accuracy(solution),
            solution.seconds,
            tuple(solution.selection.tolist()),
            key,
        )

    def _accuracy(self, solution: Solution) -> float:
        head = SparseHead.from_solution(solution, self.statistics.mean, self.statistics.std)
        if self.training is not None:
            train_adapter(head, *self.features("train"), self.training, progress=False)
        features, labels = self.features("val")
        with torch.no_grad():
            return _share(head.eval()(features), labels)


def start_from(instance: Instance, done: Sequence[Point]) -> NDArray[np.int64] | None:
    """Return a selection to start from: that of the nearest point, cut or filled up.

    Features are dropped and added by what they are worth beside those that stay: their similarity
    to all classes and their bias, less their redundancy.
    """
    if not done:
        return None

    def distance(point: Point) -> float:
        return abs(log(point.n_select / instance.n_select)) + abs(
            log(point.n_per_class / instance.n_per_class)
        )

    chosen = list(min(done, key=distance).selection)
    worth = np.maximum(instance.A, 0).sum(axis=0) + instance.b
    while len(chosen) != instance.n_select:
        values = worth - instance.R[:, chosen].sum(axis=1)
        if len(chosen) > instance.n_select:
            free = [d for d in chosen if d not in instance.include]
            chosen.remove(min(free, key=lambda d: values[d]))
        else:
            values[[*chosen, *instance.exclude]] = -np.inf
            chosen.append(int(values.argmax()))
    return np.array(sorted(chosen), dtype=np.int64)


def _share(logits: Tensor, labels: Tensor) -> float:
    return float((logits.argmax(1) == labels).double().mean())


def _key(instance: Instance, training: AdapterTraining | None, solving: dict[str, Any]) -> str:
    settings = None if training is None else asdict(training)
    text = json.dumps([instance.fingerprint, settings, solving], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _done(path: Path) -> Sweep | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"Cannot make the directory {path.parent}: {error.strerror}.") from error
    return Sweep.load(path) if path.exists() else None
