"""sparsify: from a trained model to a sparse one, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

import qpopt
from qpopt import Instance, Solution
from qpopt.control import OnEvent, Phase
from qpopt.io import AnyPath
from qpopt.preprocessing import check_counts
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import require_rereadable
from qpopt_torch.data.class_names import checked_class_names, known_class_names
from qpopt_torch.data.resuming import unknown_order
from qpopt_torch.data.seeding import seeded
from qpopt_torch.data.telling import Stage, solve_progress, spoken
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import ModelError
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.network.head_finder import HeadLike, split_unpack
from qpopt_torch.network.observation import unwrap
from qpopt_torch.pipeline.arguments import (
    checked_options,
    checked_wishes,
    split_kind,
    teller,
    with_finer_maps,
)
from qpopt_torch.pipeline.first_look import first_look
from qpopt_torch.pipeline.judging import judge, measure
from qpopt_torch.pipeline.run_folder import CHECKPOINT, PASS, RunFolder, plain_values
from qpopt_torch.pipeline.sparse_model import advise, sparse_model
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.storage import SOLUTION
from qpopt_torch.statistics.collect import collect
from qpopt_torch.statistics.statistics import Statistics
from qpopt_torch.training.adapter_training import train_adapter
from qpopt_torch.training.features import extract, joined
from qpopt_torch.training.fine_tuning import fine_tune
from qpopt_torch.training.settings import (
    AdapterTraining,
    FineTuning,
    TrainingLike,
    training_settings,
)

GOOD_ENOUGH: Mapping[str, Any] = {"gap": 0.01, "patience": 20.0}
"""When a solve stops early, where `solve` says nothing else: its accuracy gains nothing more."""


@spoken
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
        `PartialTraining(…)`, or "last", trains the last layers from activations computed once;
        `AdapterTraining(…)`, or "frozen", computes the features once and trains only an adapter, in
        minutes on a CPU; None trains nothing.
    include, exclude
        Features that must and must not be selected.
    prepare
        How the instance is made: further arguments of `Statistics.instance` and `qpopt.prepare`,
        such as `similarity`, `bias`, `bias_scale` and `epsilon`.
    solve
        How it is solved: arguments of `qpopt.solve`, such as `method`, `time_limit` and `seed`. It
        stops early when it is good enough, by default at a `gap` of 1 %, or when nothing has
        changed for a `patience` of 20 s.
    head
        The head, its module or name, or arguments of `find_head` such as `feature_layer`, where
        they are known; found and verified otherwise. Among the arguments may be `output`, which
        says which of several outputs is meant; `unpack`, a function of a batch that returns inputs
        and labels; `finer_maps`, the `stages` of the function of that name or a mapping of its
        arguments; and `relu`, as in `SparseHead`.
    class_names
        Names of the classes.
    out
        A directory for statistics, instance, solution, checkpoint and the model itself. The same
        call with the same directory continues where the first one was interrupted; another call
        is refused, and told what differs.
    progress
        Whether to show progress: on a terminal live; elsewhere one line of the logger `qpopt` for
        every stage and epoch. Or a function that is told of all events.

    Returns
    -------
    SparseClassifier
        Ready to use, in evaluation mode. `metrics` holds what was measured on `val_loader`, dense
        and sparse, and `history` what the training did.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> sparse(loader[0][0]).shape, [len(sparse.class_features(c)) for c in range(4)]
    (torch.Size([40, 4]), [2, 2, 2, 2])
    """
    tell, shown = teller(progress), progress is True
    settings = training_settings(training)
    core = unwrap(model)
    head, kind = split_kind(head)
    head, unpack = split_unpack(head)
    loader, val_loader = unpacked(loader, unpack), unpacked(val_loader, unpack)
    statistics_loader = unpacked(statistics_loader, unpack)
    preparing, solving = checked_options(core, prepare, solve, head)
    wanted = checked_wishes(n_select, n_per_class, include, exclude)
    names = checked_class_names(class_names)
    plain = loader if statistics_loader is None else statistics_loader
    given = {"The loader": loader, "statistics_loader": plain, "val_loader": val_loader}
    loaders = {name: one for name, one in given.items() if one is not None or one is loader}
    for name, data in loaders.items():
        require_rereadable(data, name, "sparsify reads it several times")
    folder = None if out is None else RunFolder(out)
    core, head = with_finer_maps(core, plain, head)
    found, record = ranks.on_all(lambda: first_look(core, plain, head, names, loaders, preparing))[
        0
    ]
    names = names or known_class_names(core, plain, found.n_classes)
    alike = preparing.get("budget") is None and preparing.get("negative") is None
    check_counts(found.n_features, found.n_classes, n_select, n_per_class, **wanted, alike=alike)
    weights = ranks.agreed(lambda: fingerprint(core), "the model")
    tell(Phase.COLLECT)
    stage = Stage()
    received: list[tuple[Tensor, Tensor]] | None = (
        [] if isinstance(settings, AdapterTraining) else None
    )
    collecting: dict[str, Any] = {
        "head": found,
        "class_names": names,
        "received": received,
        "progress": shown,
    }
    if folder is not None and received is None and not unknown_order(plain):
        collecting["checkpoint"] = folder.path / PASS
    statistics = statistics_for(preparing, solving, core, plain, **collecting)
    counts = {"n_select": n_select, "n_per_class": n_per_class, **wanted}
    solving = {**GOOD_ENOUGH, **solving}
    ways = {"prepare": preparing, "solve": solving, "training": settings, "head": found}
    finer = {"finer_maps": getattr(core, "finer_maps", None)}
    call = plain_values({"model": weights, **counts, **ways, **kind, "class_names": names, **finer})
    if folder is not None:
        statistics = ranks.on_first(partial(folder.open, call, statistics))
    seen = statistics.n_samples, statistics.n_classes, statistics.n_features
    stage.done("statistics of %d samples, %d classes × %d features", *seen)
    instance = statistics.instance(n_select, n_per_class, **wanted, **preparing)
    solving["progress"] = solve_progress(progress)
    solution = ranks.on_first(lambda: _solution(instance, folder, solving))
    gap = "not known" if solution.gap is None else f"{100 * solution.gap:.2f} %"
    stage.done("solved: %d features, %d a class, gap %s", n_select, n_per_class, gap)
    sparse = sparse_model(core, solution, statistics, plain, kind, progress=shown)
    advise(instance, sparse)

    def epoch(record: dict[str, float], step: int) -> None:
        tell(Phase.TRAIN, "  ".join(f"{key} {value:.4g}" for key, value in record.items()))

    sparse.record, sparse.unpack = record, unpack
    record.manifest = call
    following: dict[str, Any] = {"log": epoch, "progress": shown}
    following["checkpoint"] = None if folder is None else folder.path / CHECKPOINT
    if isinstance(settings, FineTuning):
        following |= {"val_loader": val_loader, "plain_loader": plain}
        following["keep"] = None if folder is None else folder.path
        record.history = fine_tune(sparse, loader, settings, **following)
    elif settings is not None and received is not None:
        features = joined(lambda: received)
        if val_loader is not None:
            following["validation"] = extract(core, val_loader, found, progress=shown)
        sparse.requires_grad_(False)
        record.history = train_adapter(sparse.sparse_head, *features, settings, **following)
    if settings is not None and settings.epochs:
        stage.done("trained")
    if val_loader is not None:
        tell(Phase.EVALUATE)
        dense, after = measure(model, sparse, val_loader, found, shown)
        tell(Phase.EVALUATE, judge(dense, after, statistics))
    if folder is not None and ranks.is_first():
        sparse.save(folder.path)
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


def solved(instance: Instance, options: Mapping[str, Any]) -> Solution:
    """Solve an instance; raise if nothing was found."""
    solution = qpopt.solve(instance, **options)
    if not solution.found:
        raise ModelError(
            f"No selection of {instance.n_select} features was found: the solve ended "
            f"{solution.status}. Give it more time with solve={{'time_limit': …}}."
        )
    return solution


def _solution(instance: Instance, folder: RunFolder | None, options: Mapping[str, Any]) -> Solution:
    """Solve the instance, or take the solution of an interrupted call."""
    if folder is None:
        return solved(instance, options)
    # An idealised solution is one of the instance with as many pairs.
    answered = instance
    if options.get("idealise"):
        answered = instance.with_demands(pairs=len(instance.pairs))
    folder.keep_instance(answered)
    solution = folder.solution(answered)
    if solution is None:
        solution = solved(instance, options)
        solution.save(folder.path / SOLUTION)
    return solution
