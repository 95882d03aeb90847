"""The training loop: resumable, on one process or many, and safe against divergence."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from tqdm import tqdm

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batch_count, check_labels, nothing_in, split, to_model
from qpopt_torch.metrics.model_accuracy import accuracy
from qpopt_torch.training.checkpoint import resume, write
from qpopt_torch.training.settings import Schedule

logger = logging.getLogger("qpopt")

Log = Callable[[dict[str, float], int], None]


@dataclass
class History:
    """What a training did.

    Parameters
    ----------
    epochs
        For every epoch: `epoch`, `loss`, `accuracy` on the training samples as they came by, `lr`,
        `seconds` and, with validation data, `val_accuracy`.
    stopped
        Why it ended early, or None.
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    stopped: str | None = None


@dataclass
class Training:
    """One training, with everything that a step needs.

    Parameters
    ----------
    objective
        A module that returns loss and logits of inputs and labels.
    model
        The model inside it: what is evaluated, and what checkpoints hold.
    n_classes
        The number of classes.
    groups
        Parameter groups of the optimiser with their learning rates.
    settings
        The schedule.
    """

    objective: nn.Module
    model: nn.Module
    n_classes: int
    groups: list[dict[str, Any]]
    settings: Schedule

    def __post_init__(self) -> None:
        self.optimizer = torch.optim.SGD(
            [{**group, "start": group["lr"]} for group in self.groups],
            momentum=self.settings.momentum,
            weight_decay=self.settings.weight_decay,
        )
        self.device = next(self.model.parameters()).device
        self.amp = _precision(self.settings.amp, self.device)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.amp is torch.float16)
        self.parallel = self.objective
        if ranks.active() and any(p.requires_grad for p in self.model.parameters()):
            self.parallel = nn.parallel.DistributedDataParallel(self.objective)

    def step(self, x: Tensor, y: Tensor) -> tuple[float, int] | None:
        """Take one step; return loss and correct predictions, or None if the loss is not finite."""
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, self.amp, enabled=self.amp is not None):
            loss, logits = self.parallel(x, y)
        finite = torch.isfinite(loss.detach()).float()
        if ranks.active():
            dist.all_reduce(finite, dist.ReduceOp.MIN)
        if not finite:
            return None
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return float(loss.detach()), int((logits.detach().argmax(1) == y).sum())

    def set_epoch(self, epoch: int) -> float:
        """Set the learning rates of an epoch; return the first."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["start"] * self.settings.rate(epoch)
        return float(self.optimizer.param_groups[0]["lr"])


def train(
    training: Training,
    loader: Iterable[Any],
    *,
    val_loader: Iterable[Any] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    log: Log | None = None,
    progress: bool = True,
    title: str = "train",
) -> History:
    """Run a training to its end, from its checkpoint if there is one.

    Parameters
    ----------
    training
        What to train and how.
    loader, val_loader
        Batches to train on, and to measure the accuracy after every epoch.
    checkpoint
        A file that is written after every epoch and resumed from.
    log
        Called with figures and the number of steps so far, after every epoch.
    progress
        Whether to show a progress bar on a terminal.
    title
        What the bar says.

    Returns
    -------
    History
        With `stopped` set if the loss was no longer finite; the model then has the weights of the
        last good epoch.
    """
    history, steps = History(resume(training, checkpoint)), 0
    done = len(history.epochs)
    n_batches = batch_count(loader)
    good = _state(training.model)
    bar = tqdm(
        total=None if n_batches is None else n_batches * training.settings.epochs,
        initial=(n_batches or 0) * done,
        desc=title,
        disable=None if progress and ranks.is_first() else True,
    )
    with bar:
        for epoch in range(done, training.settings.epochs):
            record = _epoch(training, loader, epoch, bar)
            if record is None:
                training.model.load_state_dict(good)
                history.stopped = (
                    f"The loss was not finite in epoch {epoch + 1}; the weights are those before "
                    "it. Lower the learning rate."
                )
                logger.warning(history.stopped)
                break
            good = _state(training.model)
            steps = (epoch + 1) * int(record.pop("steps"))
            if val_loader is not None:
                record["val_accuracy"] = accuracy(training.model, val_loader, progress=False)
            history.epochs.append(record)
            write(training, history.epochs, checkpoint)
            if log is not None and ranks.is_first():
                log(dict(record), steps)
    training.model.eval()
    return history


def _epoch(
    training: Training, loader: Iterable[Any], epoch: int, bar: Any
) -> dict[str, float] | None:
    """Train for one epoch; return its figures, or None if the loss or a weight is not finite."""
    rate = training.set_epoch(epoch)
    total, correct, seen, steps = 0.0, 0, 0, 0
    began = perf_counter()
    training.objective.train()
    with seeded(training.settings.seed, epoch, loader):
        for number, batch in enumerate(loader):
            x, y = split(batch, number)
            y = check_labels(y, len(x), training.n_classes, number).to(training.device)
            result = training.step(to_model(x, training.model), y)
            if result is None:
                return None
            total += result[0] * len(x)
            correct, seen, steps = correct + result[1], seen + len(x), steps + 1
            bar.set_postfix(
                epoch=epoch + 1,
                loss=f"{total / seen:.3f}",
                accuracy=f"{100 * correct / seen:.1f}",
                refresh=False,
            )
            bar.update()
    if not steps:
        raise nothing_in(loader)
    if not all(torch.isfinite(p).all() for p in training.model.parameters()):
        return None
    sums = torch.tensor([total, correct, seen], dtype=torch.float64, device=training.device)
    if ranks.active():
        dist.all_reduce(sums)
    return {
        "epoch": epoch + 1,
        "loss": float(sums[0] / sums[2]),
        "accuracy": float(sums[1] / sums[2]),
        "lr": rate,
        "seconds": perf_counter() - began,
        "steps": steps,
    }


@contextmanager
def seeded(seed: int, epoch: int, loader: Any) -> Iterator[None]:
    """Make everything random in the block depend on seed, epoch and rank alone, then undo it."""
    rank = dist.get_rank() if ranks.active() else 0
    value = int(np.random.SeedSequence([seed, epoch, rank]).generate_state(1)[0])
    before = random.getstate(), np.random.get_state()
    own = getattr(loader, "generator", None)
    own_state = None if own is None else own.get_state()
    with torch.random.fork_rng():
        torch.manual_seed(value)
        random.seed(value)
        np.random.seed(value)
        if own is not None:
            own.manual_seed(value)
        if hasattr(sampler := getattr(loader, "sampler", None), "set_epoch"):
            sampler.set_epoch(epoch)  # type: ignore[union-attr]
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
            if own is not None:
                own.set_state(own_state)


def _state(model: nn.Module) -> dict[str, Tensor]:
    return {key: value.detach().clone() for key, value in model.state_dict().items()}


def _precision(amp: str, device: torch.device) -> torch.dtype | None:
    if amp == "off" or (amp == "auto" and device.type != "cuda"):
        return None
    if amp == "auto":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if amp == "bfloat16" else torch.float16
