"""Fine-tuning a sparse classifier towards its fixed assignment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from qpopt.io import AnyPath
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.training.checkpoint import read
from qpopt_torch.training.learning_rate import best_rate
from qpopt_torch.training.loop import History, Log, Training, check_loaders, train
from qpopt_torch.training.objectives import TrainingObjective
from qpopt_torch.training.settings import FineTuning, require_settings


def fine_tune(
    model: SparseClassifier,
    loader: Iterable[Any],
    settings: FineTuning | None = None,
    *,
    val_loader: Iterable[Any] | None = None,
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
        The schedule; the published one by default.
    val_loader
        Batches to measure the accuracy after every epoch.
    checkpoint
        A file that is written after every epoch and resumed from.
    log
        Called with figures and the number of steps so far, after every epoch.
    progress
        Whether to show a progress bar on a terminal.

    Returns
    -------
    History
        Figures of every epoch, and why the training stopped early if it did.
    """
    if not isinstance(model, SparseClassifier):
        raise ModelError(f"fine_tune trains a SparseClassifier, not {shown(model)}.")
    settings = FineTuning() if settings is None else settings
    require_settings(settings, FineTuning)
    check_loaders(loader, val_loader)
    if not settings.epochs:
        model.eval()
        return History()
    objective = TrainingObjective(model, model.head, settings.beta)
    rate = settings.lr
    if isinstance(rate, str):
        begun = read(checkpoint)
        rate = begun["settings"]["rates"][0] if begun else best_rate(objective, loader, settings)
    groups = [{"params": [p for p in model.parameters() if p.requires_grad], "lr": rate}]
    training = Training("fine-tune", objective, groups, settings)
    return train(training, loader, val_loader, checkpoint, log, progress)
