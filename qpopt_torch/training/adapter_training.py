"""A frozen backbone: its features are computed once, then only an adapter is trained."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from copy import deepcopy
from math import isfinite
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from qpopt_torch.data.batches import batch_count, check_labels, nothing_in, split, to_model
from qpopt_torch.errors import LoaderError
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import evaluating, hooked, unwrap
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.sparse.classifier import SparseHead
from qpopt_torch.training.loop import History, Log
from qpopt_torch.training.settings import AdapterTraining

logger = logging.getLogger("qpopt")


def extract(
    model: nn.Module, loader: Iterable[Any], head: Head, *, progress: bool = True
) -> tuple[Tensor, Tensor]:
    """Return what the head receives for every sample, N × features in float32, and the labels.

    Parameters
    ----------
    model
        A classifier; it runs in evaluation mode and is left as it was.
    loader
        Batches of inputs and labels.
    head
        Its head.
    progress
        Whether to show a progress bar on a terminal.
    """
    core = unwrap(model)
    module, _ = head.modules(core)
    features: list[Tensor] = []
    labels: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Any, ...]) -> None:
        features.append(args[0].flatten(1).float().cpu())

    bar = tqdm(
        loader,
        desc="features",
        total=batch_count(loader),
        disable=None if progress else True,
    )
    with evaluating(core), torch.no_grad(), hooked({}, {module: keep}):
        for number, batch in enumerate(bar):
            x, y = split(batch, number)
            labels.append(check_labels(y, len(x), head.n_classes, number).cpu())
            core(to_model(x, core))
    if not labels:
        raise nothing_in(loader)
    return torch.cat(features), torch.cat(labels)


def train_adapter(
    head: SparseHead,
    features: Tensor,
    labels: Tensor,
    settings: AdapterTraining | None = None,
    *,
    validation: tuple[Tensor, Tensor] | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Give a sparse head an adapter and train it on features that are at hand, in place.

    Parameters
    ----------
    head
        The head; it ends in evaluation mode, with an adapter.
    features
        What the backbone gives, N × all features.
    labels
        The class of every sample.
    settings
        Kind of adapter and schedule.
    validation
        Features and labels to measure the accuracy after every epoch.
    log
        Called with figures and the number of steps so far, after every epoch.
    progress
        Whether to show a progress bar on a terminal.

    Returns
    -------
    History
        Figures of every epoch; `stopped` if the loss was not finite, and then the adapter is that
        of the last good epoch.
    """
    settings = settings or AdapterTraining()
    if features.ndim != 2 or not len(features):
        raise LoaderError(
            f"Features must be samples × features; their shape is {tuple(features.shape)}."
        )
    labels = check_labels(labels, len(features), len(head.assignment), 0)
    device = head.mean.device
    features, labels = features.to(device).float(), labels.to(device)
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        head.adapter = Adapter(
            features.mean(0),
            features.std(0, unbiased=False),
            head.selection.cpu(),
            hidden=settings.hidden if settings.kind == "mlp" else 0,
        ).to(device)
        history = _run(head, head.adapter, features, labels, settings, validation, log, progress)
    head.eval()
    return history


def _run(
    head: SparseHead,
    adapter: Adapter,
    features: Tensor,
    labels: Tensor,
    settings: AdapterTraining,
    validation: tuple[Tensor, Tensor] | None,
    log: Log | None,
    progress: bool,
) -> History:
    n_steps = -(-len(features) // settings.batch_size)
    optimizer = torch.optim.AdamW(
        adapter.parameters(), lr=settings.lr, weight_decay=settings.weight_decay
    )
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps * settings.epochs)
    history = History()
    good = deepcopy(adapter.state_dict())
    bar = tqdm(total=settings.epochs, desc="adapter", disable=None if progress else True)
    for epoch in range(1, settings.epochs + 1):
        head.train()
        began, total, correct = perf_counter(), 0.0, 0
        rate = float(optimizer.param_groups[0]["lr"])
        for members in torch.split(torch.randperm(len(features)), settings.batch_size):
            y = labels[members]
            received = adapter.blur(features[members], settings.noise)
            logits = head.classify(head.select(received))
            loss = F.cross_entropy(logits, y, label_smoothing=settings.smoothing)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            cosine.step()
            total += float(loss.detach()) * len(y)
            correct += int((logits.argmax(1) == y).sum())
        if not isfinite(total):
            adapter.load_state_dict(good)
            history.stopped = (
                f"The loss was not finite in epoch {epoch}; the adapter is that before it. Lower "
                "the learning rate."
            )
            logger.warning(history.stopped)
            break
        good = deepcopy(adapter.state_dict())
        record = {
            "epoch": epoch,
            "loss": total / len(features),
            "accuracy": correct / len(features),
            "lr": rate,
            "seconds": perf_counter() - began,
        }
        if validation is not None:
            record["val_accuracy"] = _accuracy(head, *validation)
        history.epochs.append(record)
        bar.update()
        bar.set_postfix(loss=f"{record['loss']:.3f}", refresh=False)
        if log is not None:
            log(dict(record), epoch * n_steps)
    bar.close()
    return history


def _accuracy(head: SparseHead, features: Tensor, labels: Tensor) -> float:
    head.eval()
    with torch.no_grad():
        received = features.to(head.mean.device).float()
        guesses = head.classify(head.select(received)).argmax(1)
    return float((guesses == labels.to(guesses.device)).double().mean())
