"""sparsify: from a trained model to a sparse one, in one call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from torch import nn

import qpopt
from qpopt import Instance, Solution, TracePoint
from qpopt.control import Event, OnEvent, Phase
from qpopt.io import AnyPath
from qpopt.preprocessing import check_counts, sharing_advice
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import begin, require_rereadable
from qpopt_torch.data.seeding import seeded
from qpopt_torch.errors import ModelError, check_keywords
from qpopt_torch.metrics.accuracy import accuracy
from qpopt_torch.network.head_finder import HeadLike, find_head, head_of
from qpopt_torch.network.observation import unwrap
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.storage import made_folder
from qpopt_torch.statistics.collect import collect
from qpopt_torch.statistics.statistics import Statistics
from qpopt_torch.training.adapter_training import train_adapter
from qpopt_torch.training.features import extract
from qpopt_torch.training.fine_tuning import fine_tune
from qpopt_torch.training.settings import FineTuning, TrainingLike, training_settings

logger = logging.getLogger("qpopt")


def sparsify(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_select: int,
    n_per_class: int,
    val_loader: Iterable[Any] | None = None,
    statistics_loader: Iterable[Any] | None = None,
    training: TrainingLike = "full",
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    prepare: Mapping[str, Any] | None = None,
    solve: Mapping[str, Any] | None = None,
    head: HeadLike = None,
    class_names: Sequence[str] | None = None,
    out: AnyPath | None = None,
    progress: bool | OnEvent = True,
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
        How many features to keep, and how many of them every class gets. With `n_select` well
        below the number of classes every feature serves several; a warning says where few do.
    val_loader
        Batches on which the accuracy is measured.
    statistics_loader
        The training samples as they are, if `loader` changes them at random. Statistics, and the
        features of a frozen network, are taken from it.
    training
        `FineTuning(…)`, or "full" for its defaults, trains everything but the assignment;
        `AdapterTraining(…)`, or "frozen", computes the features once and trains only an adapter, in
        minutes on a CPU; None trains nothing.
    include, exclude
        Features that must and must not be selected.
    prepare
        How the instance is made: further arguments of `Statistics.instance` and `qpopt.prepare`,
        such as `similarity`, `bias`, `bias_scale` and `epsilon`.
    solve
        How it is solved: arguments of `qpopt.solve`, such as `method`, `time_limit` and `seed`.
    head
        The head, its module or name, or arguments of `find_head` such as `feature_layer`, where
        they are known; found and verified otherwise.
    class_names
        Names of the classes.
    out
        A directory for statistics, instance, solution, checkpoint and the model itself. A second
        call with the same directory continues where the first one was interrupted.
    progress
        Whether to show progress on a terminal, or a function that is told of all events.

    Returns
    -------
    SparseClassifier
        Ready to use, in evaluation mode.
    """
    tell, shown = teller(progress), progress is True
    settings = training_settings(training)
    preparing, solving = checked_options(prepare, solve, head)
    given = {"The loader": loader, "statistics_loader": statistics_loader, "val_loader": val_loader}
    for name, data in given.items():
        require_rereadable(data, name, "sparsify reads it several times")
    plain = loader if statistics_loader is None else statistics_loader
    wanted: dict[str, Any] = {"include": tuple(include), "exclude": tuple(exclude)}
    folder = None if out is None else made_folder(out)
    core = unwrap(model)
    found = head_of(core, begin(plain, core)[0], head)
    check_counts(found.n_features, found.n_classes, n_select, n_per_class, **wanted)
    tell(Phase.COLLECT)
    statistics = statistics_for(
        preparing, solving, core, plain, head=found, class_names=class_names, progress=shown
    )
    instance = statistics.instance(n_select, n_per_class, **wanted, **preparing)
    if folder is not None and ranks.is_first():
        statistics.save(folder / "statistics.npz")
        instance.save(folder / "instance.npz")
    stored = None if folder is None else folder / "solution.json"
    solution = _solution(instance, stored, {**solving, "progress": progress})
    sparse = SparseClassifier.from_solution(model, solution, statistics)
    _advise(instance, sparse)

    def epoch(record: dict[str, float], step: int) -> None:
        tell(Phase.TRAIN, "  ".join(f"{key} {value:.4g}" for key, value in record.items()))

    following: dict[str, Any] = {"log": epoch, "progress": shown}
    if isinstance(settings, FineTuning):
        checkpoint = None if folder is None else folder / "checkpoint.pt"
        following |= {"val_loader": val_loader, "checkpoint": checkpoint}
        fine_tune(sparse, loader, settings, **following)
    elif settings is not None:
        features = extract(core, plain, found, progress=shown)
        if val_loader is not None:
            following["validation"] = extract(core, val_loader, found, progress=shown)
        sparse.requires_grad_(False)
        train_adapter(sparse.sparse_head, *features, settings, **following)
    if val_loader is not None:
        tell(Phase.EVALUATE)
        dense, after = (accuracy(m, val_loader, progress=shown) for m in (model, sparse))
        logger.info("accuracy %.4f, of the dense model %.4f", after, dense)
        tell(Phase.EVALUATE, f"accuracy {after:.4f}, of the dense model {dense:.4f}")
    if folder is not None and ranks.is_first():
        sparse.save(folder)
    return sparse.eval()


def statistics_for(
    prepare: Mapping[str, Any],
    solve: Mapping[str, Any],
    model: nn.Module,
    loader: Iterable[Any],
    **options: Any,
) -> Statistics:
    """Collect what `prepare` needs, with further `options` of `collect`.

    The statistics are the same in every call, so that the solution of an interrupted one still
    fits.
    """
    bins = 64 if prepare.get("similarity") == "auroc" else 0
    with seeded(solve.get("seed", 0), 0, loader):
        return collect(model, loader, bins=bins, **options)


def teller(progress: bool | OnEvent) -> Callable[..., None]:
    """Return a function that tells of a phase and, in a note, of how things stand."""
    began = perf_counter()

    def tell(phase: Phase, note: str = "") -> None:
        if callable(progress) and ranks.is_first():
            progress(Event(phase, TracePoint(perf_counter() - began, None, None), note))

    return tell


def checked_options(
    prepare: Mapping[str, Any] | None, solve: Mapping[str, Any] | None, head: HeadLike, *own: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `Statistics.instance` and `qpopt.solve`, all of which exist.

    So do those of `find_head`. Arguments of `qpopt.solve` in `own` are given in another way.
    """
    counts = ("n_select", "n_per_class", "include", "exclude", "class_names")
    preparing, solving = dict(prepare or {}), dict(solve or {})
    check_keywords("prepare", preparing, Statistics.instance, qpopt.prepare, without=counts)
    check_keywords("solve", solving, qpopt.solve, without=("progress", *own))
    check_keywords("head", head if isinstance(head, Mapping) else {}, find_head)
    return preparing, solving


def solved(instance: Instance, options: Mapping[str, Any]) -> Solution:
    """Solve an instance; raise if nothing was found."""
    solution = qpopt.solve(instance, **options)
    if not solution.found:
        raise ModelError(
            f"No selection of {instance.n_select} features was found: the solve ended "
            f"{solution.status}. Give it more time with solve={{'time_limit': …}}."
        )
    return solution


def _advise(instance: Instance, sparse: SparseClassifier) -> None:
    """Say it where few features are shared, unless the counts alone made `prepare` say it."""
    counts = (instance.n_classes, instance.n_select, instance.n_per_class)
    n_single = int((sparse.assignment.sum(axis=0) <= 1).sum())
    advice = sharing_advice(*counts, n_single)
    if advice and not sharing_advice(*counts) and ranks.is_first():
        logger.warning("%s", advice)


def _solution(instance: Instance, stored: Path | None, options: Mapping[str, Any]) -> Solution:
    """Solve the instance on the first rank, or take the solution of an interrupted call."""

    def on_first_rank() -> Solution | None:
        if not ranks.is_first():
            return None
        if stored is not None and stored.exists():
            solution = Solution.load(stored)
            if solution.fingerprint == instance.fingerprint and solution.found:
                logger.info("using the solution in %s", stored)
                return solution
        solution = solved(instance, options)
        if stored is not None:
            solution.save(stored)
        return solution

    solution = ranks.on_all(on_first_rank)[0]
    assert solution is not None
    return solution
