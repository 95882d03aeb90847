"""Fine-tuning a sparse classifier, and training the dense model before it."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from math import inf
from os import PathLike
from typing import Any

import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import check_labels, nothing_in, require_rereadable, split, to_model
from qpopt_torch.errors import TrainingError
from qpopt_torch.network.head import Head, find_head
from qpopt_torch.network.observation import hooked, logits_of, on_last_call, unwrap
from qpopt_torch.sparse.classifier import Features, SparseClassifier
from qpopt_torch.training.checkpoint import read
from qpopt_torch.training.loop import History, Log, Training, seeded, train
from qpopt_torch.training.losses import default_beta, feature_diversity_loss
from qpopt_torch.training.settings import DenseTraining, FineTuning

PAPER_LR = 1.28e-2
RATES = (4 * PAPER_LR, PAPER_LR, PAPER_LR / 4, PAPER_LR / 16)
"""Learning rates that `auto` tries, around the published one."""

TRIAL_STEPS = 40
"""Steps of each trial: enough for the momentum to build up and a rate that is too high to show."""

logger = logging.getLogger("qpopt")


class _Objective(nn.Module, ABC):
    """Cross entropy and feature diversity of a model, as one module so that DDP sees it whole."""

    def __init__(self, beta: float | str) -> None:
        super().__init__()
        self.beta = beta

    @abstractmethod
    def observe(self, x: Tensor) -> tuple[Features, Tensor]:
        """Return what the model sees in a batch, and the weights of its classes."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        seen, weights = self.observe(x)
        loss = F.cross_entropy(seen.logits.float(), y)
        if seen.maps is not None:
            n_positions = seen.maps[0, 0].numel()
            beta = default_beta(n_positions) if isinstance(self.beta, str) else self.beta
            if beta > 0:
                loss = loss + beta * feature_diversity_loss(
                    seen.logits, seen.features, seen.maps, weights
                )
        return loss, seen.logits


class _SparseObjective(_Objective):
    def __init__(self, model: SparseClassifier, beta: float | str) -> None:
        super().__init__(beta)
        self.model = model

    def observe(self, x: Tensor) -> tuple[Features, Tensor]:
        return self.model.features(x), self.model.sparse_head.assignment


class _DenseObjective(_Objective):
    def __init__(self, model: nn.Module, head: Head, beta: float | str, dropout: float) -> None:
        super().__init__(beta)
        self.model, self.head, self.dropout = model, head, dropout

    def observe(self, x: Tensor) -> tuple[Features, Tensor]:
        module, layer = self.head.modules(self.model)
        layout = self.head.layout
        features: list[Tensor] = []
        maps: list[Tensor] = []

        def drop(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
            features.append(args[0].flatten(1))
            return (F.dropout(args[0], self.dropout, self.training), *args[1:])

        def keep(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
            assert layout is not None
            maps.append(layout.maps(output, like=x))

        hooks = {} if layer is None else {layer: on_last_call(keep, self.head.calls)}
        with hooked(hooks, {module: drop}):
            logits = logits_of(self.model(x))
        weights = module.weight.flatten(1)  # type: ignore[operator]
        return Features(logits, features[0], maps[0] if maps else None), weights


def fine_tune(
    model: SparseClassifier,
    loader: Iterable[Any],
    settings: FineTuning | None = None,
    *,
    val_loader: Iterable[Any] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Train the backbone of a sparse classifier towards its fixed assignment, in place.

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
    settings = settings or FineTuning()
    _check_loaders(loader, val_loader)
    objective = _SparseObjective(model, settings.beta)
    rate = settings.lr
    if not isinstance(rate, (int, float)):
        begun = read(checkpoint)
        rate = begun["rates"][0] if begun else _best_rate(objective, loader, settings)
    groups = [{"params": [p for p in model.parameters() if p.requires_grad], "lr": float(rate)}]
    training = Training(objective, model, model.head.n_classes, groups, settings)
    return train(
        training,
        loader,
        val_loader=val_loader,
        checkpoint=checkpoint,
        log=log,
        progress=progress,
        title="fine-tune",
    )


def train_dense(
    model: nn.Module,
    loader: Iterable[Any],
    settings: DenseTraining | None = None,
    *,
    head: Head | nn.Module | str | None = None,
    feature_layer: nn.Module | str | None = None,
    val_loader: Iterable[Any] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Train a dense model, in place, with the feature diversity loss.

    Parameters
    ----------
    model
        The model; it ends in evaluation mode.
    loader
        Training batches; read once an epoch.
    settings
        The schedule; the published one by default.
    head, feature_layer
        As in `collect`.
    val_loader, checkpoint, log, progress
        As in `fine_tune`.

    Returns
    -------
    History
        Figures of every epoch, and why the training stopped early if it did.
    """
    settings = settings or DenseTraining()
    _check_loaders(loader, val_loader)
    core = unwrap(model)
    if not isinstance(head, Head):
        first = next(iter(loader), None)
        if first is None:
            raise nothing_in(loader)
        x = to_model(split(first, 0)[0], core)
        head = find_head(core, x, head=head, feature_layer=feature_layer)
    own = {id(p) for p in head.modules(core)[0].parameters()}
    trainable = [p for p in core.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trainable if id(p) not in own], "lr": settings.lr},
        {"params": [p for p in trainable if id(p) in own], "lr": settings.head_lr},
    ]
    objective = _DenseObjective(core, head, settings.beta, settings.dropout)
    training = Training(objective, core, head.n_classes, groups, settings)
    return train(
        training,
        loader,
        val_loader=val_loader,
        checkpoint=checkpoint,
        log=log,
        progress=progress,
        title="train dense",
    )


def _check_loaders(loader: Iterable[Any], val_loader: Iterable[Any] | None) -> None:
    require_rereadable(loader, "The loader", "training reads it once an epoch")
    if val_loader is not None:
        require_rereadable(val_loader, "val_loader", "it is read after every epoch")


def _best_rate(objective: _SparseObjective, loader: Iterable[Any], settings: FineTuning) -> float:
    """Try a few learning rates for some steps on copies; return the one with the lowest loss."""
    losses = {rate: _trial(objective, loader, settings, rate) for rate in RATES}
    best = min(losses, key=lambda rate: losses[rate])
    if losses[best] == inf:
        raise TrainingError(
            "The loss is not finite at any learning rate; check the inputs, or pass lr."
        )
    if ranks.active():
        shared = [best]
        dist.broadcast_object_list(shared)
        best = shared[0]
    logger.info("learning rate %g", best)
    return best


def _trial(
    objective: _SparseObjective, loader: Iterable[Any], settings: FineTuning, rate: float
) -> float:
    """Return the mean loss over the second half of a short training of a copy."""
    copy = deepcopy(objective)
    parameters = [p for p in copy.model.parameters() if p.requires_grad]
    groups = [{"params": parameters, "lr": rate}]
    n_classes = copy.model.head.n_classes
    training = Training(copy, copy.model, n_classes, groups, replace(settings, lr=rate))
    copy.train()
    losses = []
    with seeded(settings.seed, 0, loader):
        for number, batch in enumerate(islice(_endless(loader), TRIAL_STEPS)):
            x, y = split(batch, number)
            y = check_labels(y, len(x), n_classes, number).to(training.device)
            result = training.step(to_model(x, copy.model), y)
            if result is None:
                return inf
            losses.append(result[0])
    late = losses[len(losses) // 2 :]
    return sum(late) / len(late)


def _endless(loader: Iterable[Any]) -> Iterable[Any]:
    while True:
        empty = True
        for batch in loader:
            empty = False
            yield batch
        if empty:
            raise nothing_in(loader)
