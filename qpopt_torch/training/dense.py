"""Training the dense model, before anything is selected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

from qpopt.io import AnyPath
from qpopt_torch.data.batches import begin
from qpopt_torch.data.telling import spoken
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import TrainingError
from qpopt_torch.network.finer_maps import refine, split_head
from qpopt_torch.network.head import Head
from qpopt_torch.network.head_finder import HeadLike, head_of, split_unpack
from qpopt_torch.network.observation import unwrap
from qpopt_torch.training.fine_tuning import tune
from qpopt_torch.training.loop import History, Log, Training, check_loaders, train
from qpopt_torch.training.objectives import TrainingObjective
from qpopt_torch.training.settings import DenseTraining, PartialTraining, require_settings

DROPOUT = 0.2
"""Chance that a feature is left out where the settings have none."""


@spoken
def train_dense(
    model: nn.Module,
    loader: Iterable[Any],
    settings: DenseTraining | PartialTraining | None = None,
    *,
    head: HeadLike = None,
    val_loader: Iterable[Any] | None = None,
    plain_loader: Iterable[Any] | None = None,
    keep: AnyPath | None = None,
    checkpoint: AnyPath | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Train a dense model, in place, with the feature diversity loss.

    Parameters
    ----------
    model
        The model; it ends in evaluation mode.
    head
        As in `collect`. A mapping may also hold `finer_maps`, as in `sparsify`: the maps of the
        model then become finer before it is trained, in place.
    settings
        The schedule; the published one by default. `PartialTraining(…)` trains the last layers.
    loader, val_loader, plain_loader, keep, checkpoint, log, progress
        As in `fine_tune`, which also says what is returned.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> layers = nn.Conv2d(3, 12, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    >>> model = nn.Sequential(*layers, nn.Linear(12, 4))
    >>> loader = [(torch.rand(8, 3, 32, 32), torch.arange(8) % 4)]
    >>> settings = qpopt_torch.DenseTraining(epochs=2, lr=0.01)
    >>> history = qpopt_torch.train_dense(model, loader, settings, progress=False)
    >>> len(history.epochs)
    2
    """
    settings = DenseTraining() if settings is None else settings
    require_settings(settings, DenseTraining, PartialTraining)
    if isinstance(settings, PartialTraining) and settings.grounding is not None:
        raise TrainingError("A dense model has no assignment that grounding could follow.")
    head, unpack = split_unpack(head)
    loader, val_loader = unpacked(loader, unpack), unpacked(val_loader, unpack)
    plain_loader = unpacked(plain_loader, unpack)
    check_loaders(loader, val_loader)
    core = unwrap(model)
    head, finer = split_head(head)
    if isinstance(head, Head) and finer is None:
        found = head
    else:
        x, _ = begin(loader, core)
        found = head_of(core, x, head)
        if finer is not None:
            refine(core, found, x, **finer)
    following: dict[str, Any] = {"checkpoint": checkpoint, "log": log, "progress": progress}
    dropout = DROPOUT if isinstance(settings, PartialTraining) else settings.dropout
    kind: dict[str, Any] = {n: getattr(settings, n) for n in ("norms", "grids", "smoothing")}
    objective = TrainingObjective(core, found, settings.beta, dropout, **kind)
    if isinstance(settings, PartialTraining):
        sources: dict[str, Any] = {"val_loader": val_loader, "plain": plain_loader, "keep": keep}
        return tune(objective, loader, settings, **sources, **following)
    own = set(found.modules(core)[0].parameters())
    trainable = [p for p in core.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trainable if p not in own], "lr": settings.lr},
        {"params": [p for p in trainable if p in own], "lr": settings.head_lr},
    ]
    groups = [group for group in groups if group["params"]]
    objective.check_grids(loader)
    training = Training("train dense", objective, groups, settings)
    return train(training, loader, val_loader, **following)
