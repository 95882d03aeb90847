"""Fine-tuning a sparse classifier towards its fixed assignment."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn

from qpopt.io import AnyPath
from qpopt_torch.data.telling import spoken
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.training.checkpoint import read
from qpopt_torch.training.learning_rate import best_rate
from qpopt_torch.training.loop import History, Log, Training, check_loaders, train
from qpopt_torch.training.objectives import TrainingObjective, blank_norms
from qpopt_torch.training.partial import partial_run
from qpopt_torch.training.settings import FineTuning, PartialTraining, require_settings

logger = logging.getLogger("qpopt")


@spoken
def fine_tune(
    model: SparseClassifier,
    loader: Iterable[Any],
    settings: FineTuning | None = None,
    *,
    val_loader: Iterable[Any] | None = None,
    plain_loader: Iterable[Any] | None = None,
    keep: AnyPath | None = None,
    checkpoint: AnyPath | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Train the network of a sparse classifier towards its fixed assignment, in place.

    Parameters
    ----------
    model
        The sparse classifier; it ends in evaluation mode.
    loader
        Training batches; read once an epoch.
    settings
        The schedule; the published one by default. `PartialTraining(…)` trains the last layers.
    val_loader
        Batches to measure the accuracy after every epoch.
    plain_loader
        The training samples as they are, for the views of `PartialTraining`.
    keep
        A folder in which the activations of `PartialTraining` stay for another call.
    checkpoint
        A file that is written after every epoch and resumed from. Beside it, `.step` is written
        within epochs as often as a hundredth of the time allows, and `.rates` holds the trials of
        learning rates; the same call goes on behind the last step that is there.
    log
        Called with figures and the number of steps so far, after every epoch.
    progress
        Whether to show progress: a bar on a terminal, elsewhere a line of the logger `qpopt` for
        every epoch.

    Returns
    -------
    History
        Figures of every epoch, and why the training stopped early if it did.

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
    >>> settings = qpopt_torch.FineTuning(epochs=2, lr=1e-3)
    >>> history = qpopt_torch.fine_tune(sparse, loader, settings, progress=False)
    >>> len(history.epochs)
    2
    """
    if not isinstance(model, SparseClassifier):
        raise ModelError(f"fine_tune trains a SparseClassifier, not {shown(model)}.")
    settings = FineTuning() if settings is None else settings
    require_settings(settings, FineTuning)
    loader, val_loader = unpacked(loader, model.unpack), unpacked(val_loader, model.unpack)
    plain_loader = unpacked(plain_loader, model.unpack)
    check_loaders(loader, val_loader)
    if not settings.epochs:
        model.eval()
        return History()
    if settings.norms == "trained" and (n_blank := blank_norms(model)):
        logger.warning(
            "%d batch norms have the mean 0 and the variance 1: they were folded away, or have "
            "seen no data. Training with the statistics of batches would break what comes behind "
            "them; norms='frozen' leaves them as they are.",
            n_blank,
        )
    names = ("norms", "grids", "smoothing", "grounding")
    kind: dict[str, Any] = {name: getattr(settings, name) for name in names}
    objective = TrainingObjective(model, model.head, settings.beta, **kind)
    following: dict[str, Any] = {"checkpoint": checkpoint, "log": log, "progress": progress}
    sources: dict[str, Any] = {"val_loader": val_loader, "plain": plain_loader, "keep": keep}
    return tune(objective, loader, settings, **sources, **following)


def tune(
    objective: TrainingObjective,
    loader: Iterable[Any],
    settings: FineTuning,
    *,
    val_loader: Iterable[Any] | None,
    plain: Iterable[Any] | None,
    keep: AnyPath | None,
    checkpoint: AnyPath | None,
    log: Log | None,
    progress: bool,
) -> History:
    """Train what an objective is about, all of it or its last layers; see `fine_tune`."""
    if not isinstance(settings, PartialTraining):
        objective.check_grids(loader)
        training = _training(objective, loader, settings, checkpoint)
        return train(training, loader, val_loader, checkpoint, log, progress)
    sources: dict[str, Any] = {"plain": plain, "keep": keep, "progress": progress}
    with partial_run(objective, loader, val_loader, settings, **sources) as run:
        training = _training(objective, run.loader, settings, checkpoint, run.evaluated)
        return train(training, run.loader, run.val_loader, checkpoint, log, progress)


def _training(
    objective: TrainingObjective,
    loader: Iterable[Any],
    settings: FineTuning,
    checkpoint: AnyPath | None,
    evaluated: nn.Module | None = None,
) -> Training:
    """Return the training, at the rate that is given, was begun with, or proves best."""
    rate = settings.lr
    if isinstance(rate, str):
        begun = read(checkpoint)
        kept = None if checkpoint is None else Path(f"{checkpoint}.rates")
        rate = (
            begun["settings"]["rates"][0] if begun else best_rate(objective, loader, settings, kept)
        )
    groups = [{"params": [p for p in objective.parameters() if p.requires_grad], "lr": rate}]
    return Training("fine-tune", objective, groups, settings, evaluated)
