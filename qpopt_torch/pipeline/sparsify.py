"""sparsify: from a trained model to a sparse one, in one call."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from torch import nn

from qpopt import Instance, Solution
from qpopt.methods.solve import solve
from qpopt.problem.counts import check_counts
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import nothing_in, require_rereadable, split, to_model
from qpopt_torch.errors import ModelError, TrainingError
from qpopt_torch.metrics.model_accuracy import accuracy
from qpopt_torch.network.head import Head, find_head
from qpopt_torch.network.observation import unwrap
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.statistics.collect import collect
from qpopt_torch.statistics.statistics import BiasLike
from qpopt_torch.training.adapter_training import extract, train_adapter
from qpopt_torch.training.fine_tuning import fine_tune
from qpopt_torch.training.loop import Log, seeded
from qpopt_torch.training.settings import AdapterTraining, FineTuning

TIME_LIMIT = 60.0

logger = logging.getLogger("qpopt")


def sparsify(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_select: int,
    n_per_class: int,
    val_loader: Iterable[Any] | None = None,
    statistics_loader: Iterable[Any] | None = None,
    backbone: Literal["train", "frozen"] = "train",
    fine_tuning: FineTuning | None = None,
    adapter: AdapterTraining | None = None,
    head: nn.Module | str | None = None,
    feature_layer: nn.Module | str | None = None,
    similarity: Literal["pearson", "auroc"] = "pearson",
    bias: BiasLike = "locality",
    bias_scale: float = 10**-0.5,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    class_names: Sequence[str] | None = None,
    method: str = "auto",
    solver: str = "auto",
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    out: str | PathLike[str] | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> SparseClassifier:
    """Turn a trained classifier into one that explains every class by a few shared features.

    Collects statistics in one pass, solves for the best selection and assignment, builds the
    sparse classifier and trains it. The given model is not changed.

    Parameters
    ----------
    model
        The trained classifier.
    loader
        Training batches of inputs and labels.
    n_select, n_per_class
        How many features to keep, and how many of them every class gets.
    val_loader
        Batches on which the accuracy is measured.
    statistics_loader
        The training samples as they are, if `loader` changes them at random. Statistics, and the
        features of a frozen backbone, are taken from it.
    backbone
        `train` fine-tunes everything but the assignment; `frozen` computes the features once and
        trains only an adapter, in minutes on a CPU.
    fine_tuning, adapter
        Settings of the one and of the other; `FineTuning(epochs=0)` trains nothing.
    head, feature_layer
        The modules or their names, where they are known; found and verified otherwise.
    similarity, bias
        How well a feature tells a class, and how much it is wanted for its own sake.
    bias_scale
        The largest bias of a feature, where a class gains up to 1000 / (n_per_class · n_classes)
        by one.
    include, exclude
        Features that must and must not be selected.
    class_names
        Names of the classes.
    method, solver, time_limit
        How the instance is solved, and for how many seconds.
    seed
        Seed of the solve.
    out
        A directory for statistics, instance, solution, checkpoint and the model itself. A second
        call with the same directory continues where the first one was interrupted.
    log
        Called with figures and the number of steps so far, after every epoch.
    progress
        Whether to show progress on a terminal.

    Returns
    -------
    SparseClassifier
        Ready to use, in evaluation mode.
    """
    if backbone not in ("train", "frozen"):
        raise TrainingError(f"backbone must be train or frozen, not {backbone!r}.")
    require_rereadable(loader, "The loader", "sparsify reads it several times")
    plain = loader if statistics_loader is None else statistics_loader
    require_rereadable(plain, "statistics_loader", "sparsify reads it several times")
    included, excluded = tuple(include), tuple(exclude)
    found = _first_head(model, plain, head, feature_layer)
    check_counts(
        found.n_features,
        found.n_classes,
        n_select,
        n_per_class,
        include=included,
        exclude=excluded,
    )
    # The same statistics in every call, so that the solution of an interrupted one still fits.
    with seeded(seed, 0, plain):
        statistics = collect(
            model,
            plain,
            head=found,
            bins=64 if similarity == "auroc" else 0,
            class_names=class_names,
            progress=progress,
        )
    instance = statistics.instance(
        n_select,
        n_per_class,
        similarity=similarity,
        bias=bias,
        bias_scale=bias_scale,
        include=included,
        exclude=excluded,
    )
    folder = None if out is None else Path(out)
    if folder is not None and ranks.is_first():
        folder.mkdir(parents=True, exist_ok=True)
        statistics.save(folder / "statistics.npz")
        instance.save(folder / "instance.npz")
    solution = _solution(
        instance,
        folder,
        method=method,
        solver=solver,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
    )
    sparse = SparseClassifier.from_solution(model, solution, statistics)
    if backbone == "frozen":
        _train_frozen(sparse, plain, val_loader, adapter, log, progress)
    else:
        fine_tune(
            sparse,
            loader,
            fine_tuning,
            val_loader=val_loader,
            checkpoint=None if folder is None else folder / "checkpoint.pt",
            log=log,
            progress=progress,
        )
    if val_loader is not None:
        dense, after = (accuracy(m, val_loader, progress=progress) for m in (model, sparse))
        logger.info("accuracy %.4f, of the dense model %.4f", after, dense)
    if folder is not None and ranks.is_first():
        sparse.save(folder)
    return sparse.eval()


def _first_head(
    model: nn.Module,
    loader: Iterable[Any],
    head: nn.Module | str | None,
    feature_layer: nn.Module | str | None,
) -> Head:
    core = unwrap(model)
    first = next(iter(loader), None)
    if first is None:
        raise nothing_in(loader)
    x = to_model(split(first, 0)[0], core)
    return find_head(core, x, head=head, feature_layer=feature_layer)


def _solution(instance: Instance, folder: Path | None, **options: Any) -> Solution:
    """Solve the instance on the first rank, or take the solution of an interrupted call."""

    def on_first_rank() -> Solution | None:
        if not ranks.is_first():
            return None
        stored = None if folder is None else folder / "solution.json"
        if stored is not None and stored.exists():
            solution = Solution.load(stored)
            if solution.fingerprint == instance.fingerprint and solution.found:
                logger.info("using the solution in %s", stored)
                return solution
        solution = solve(instance, **options)
        if not solution.found:
            raise ModelError(
                f"No selection was found: the solve ended {solution.status}. Give it more time "
                "with time_limit."
            )
        if stored is not None:
            solution.save(stored)
        return solution

    solution = ranks.on_all(on_first_rank)[0]
    assert solution is not None
    return solution


def _train_frozen(
    sparse: SparseClassifier,
    loader: Iterable[Any],
    val_loader: Iterable[Any] | None,
    settings: AdapterTraining | None,
    log: Log | None,
    progress: bool,
) -> None:
    features, labels = extract(sparse.backbone, loader, sparse.head, progress=progress)
    validation = None
    if val_loader is not None:
        validation = extract(sparse.backbone, val_loader, sparse.head, progress=progress)
    for parameter in sparse.parameters():
        parameter.requires_grad_(False)
    train_adapter(
        sparse.sparse_head,
        features,
        labels,
        settings,
        validation=validation,
        log=log,
        progress=progress,
    )
