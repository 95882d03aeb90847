"""The training loop: resumable, on one process or many, and safe against divergence."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from qpopt.control.progress import Bar
from qpopt.io import AnyPath
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batch_count, batches, in_groups, require_rereadable
from qpopt_torch.data.inputs import Batch
from qpopt_torch.data.resuming import gone_on
from qpopt_torch.data.seeding import seeded, set_random_state
from qpopt_torch.data.sharding import check_sharded
from qpopt_torch.data.telling import EpochLines
from qpopt_torch.errors import TrainingError
from qpopt_torch.metrics.accuracy import accuracy
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.network.observation import explained
from qpopt_torch.training.checkpoint import StepCheckpoint, resume
from qpopt_torch.training.objectives import AdapterObjective, TrainingObjective
from qpopt_torch.training.settings import AdapterTraining, FineTuning, Schedule, leak

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
    title
        What the bar says.
    objective
        Returns loss and logits of inputs and labels. The model inside it is what is evaluated, and
        what checkpoints hold.
    groups
        Parameter groups of the optimiser with their learning rates.
    settings
        The schedule.
    evaluated
        What is evaluated on validation batches, if not the model itself.
    """

    title: str
    objective: TrainingObjective | AdapterObjective
    groups: list[dict[str, Any]]
    settings: Schedule | AdapterTraining
    evaluated: nn.Module | None = None

    def __post_init__(self) -> None:
        self.model: nn.Module = self.objective.model
        if not any(group["params"] for group in self.groups):
            raise TrainingError(
                "There is nothing to train: no parameter before the head requires a gradient. Call "
                "model.requires_grad_(True), or train an adapter alone (frozen)."
            )
        self.optimizer = self.settings.optimizer(
            [{**group, "start": group["lr"]} for group in self.groups]
        )
        self.device = next(self.model.parameters()).device
        self.amp = _precision(self.settings.amp, self.device)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.amp is torch.float16)
        self.parallel: nn.Module = self.objective
        if ranks.active():
            self.parallel = nn.parallel.DistributedDataParallel(self.objective)

    def step(
        self, group: Sequence[tuple[Batch, Tensor]], first: int = 0
    ) -> tuple[float, Tensor] | None:
        """Take one step; return loss and logits, or None if the loss is not finite.

        Gradients of several batches are added up, each weighed by its samples. `first` is the
        number of the first one, by which errors name them.
        """
        self.optimizer.zero_grad(set_to_none=True)
        n_samples = sum(len(x) for x, _ in group)
        mean, logits = 0.0, []
        for number, (x, y) in enumerate(group):
            last = number == len(group) - 1
            with explained(self.model, x, first + number), self._exchanging(last):
                found = self._add_gradients(x, y, len(x) / n_samples)
            if found is None:
                return None
            mean += found[0]
            logits.append(found[1])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return mean, torch.cat(logits)

    def _exchanging(self, last: bool) -> AbstractContextManager[Any]:
        """Let processes exchange gradients once a step, with its last batch."""
        if isinstance(self.parallel, nn.parallel.DistributedDataParallel) and not last:
            return self.parallel.no_sync()
        return nullcontext()

    def _add_gradients(self, x: Batch, y: Tensor, share: float) -> tuple[float, Tensor] | None:
        """Add the gradients of a batch; return its share of the loss, and its logits."""
        precision = torch.autocast(self.device.type, self.amp, enabled=self.amp is not None)
        with precision, _norms_for(self.objective, len(x)):
            loss, logits = self.parallel(x, y)
        loss = loss * share
        if not loss.requires_grad:
            raise TrainingError(
                "The loss does not depend on any parameter that requires a gradient; call "
                "model.requires_grad_(True)."
            )
        finite = torch.isfinite(loss.detach()).float()
        if ranks.active():
            with ranks.in_touch():
                dist.all_reduce(finite, dist.ReduceOp.MIN)
        if not finite:
            return None
        self.scaler.scale(loss).backward()
        return float(loss.detach()), logits.detach()

    def begin_epoch(self, epoch: int) -> float:
        """Get ready for an epoch; return its first learning rate."""
        if isinstance(self.settings, FineTuning):
            stage, over = self.settings.stage(epoch)
            if stage and not over:
                self.optimizer.state.clear()  # a stage begins with a new optimiser
            if isinstance(self.objective, TrainingObjective) and self.objective.grounding:
                self.objective.grounding_weight = self.settings.grounding_weight(epoch)
        return self.set_epoch(epoch)

    def set_epoch(self, epoch: float) -> float:
        """Set the learning rates after some epochs; return the first."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["start"] * self.settings.rate(epoch)
        self.objective.leak(leak(self.settings, epoch))
        return float(self.optimizer.param_groups[0]["lr"])


def train(
    training: Training,
    loader: Iterable[Any],
    val_loader: Iterable[Any] | None = None,
    checkpoint: AnyPath | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Run a training to its end, from its checkpoint if there is one; arguments as in `fine_tune`.

    If the loss is no longer finite, the model gets the weights of the last good epoch back.
    """
    start = "" if checkpoint is None else fingerprint(training.model)
    saving = StepCheckpoint(training, checkpoint, start)
    history, steps = History(resume(training, checkpoint, start)), 0
    done = len(history.epochs)
    n_batches = batch_count(loader)
    good = _state(training.model)
    said = EpochLines(training.settings.epochs)
    with Bar(
        training.title,
        None if n_batches is None else n_batches * training.settings.epochs,
        done=(n_batches or 0) * done,
        progress=progress and ranks.is_first(),
    ) as bar:
        for epoch in range(done, training.settings.epochs):
            record = _epoch(training, loader, epoch, bar, saving)
            if record is None:
                training.model.load_state_dict(good)
                history.stopped = (
                    f"The loss was not finite in epoch {epoch + 1}; the weights are those before "
                    "it. Lower the learning rate."
                )
                logger.warning(history.stopped)
                break
            # A batch norm knows only the batches of its own rank.
            ranks.share(training.model)
            good = _state(training.model)
            steps = (epoch + 1) * int(record.pop("steps"))
            if val_loader is not None:
                judged = training.evaluated or training.model
                record["val_accuracy"] = accuracy(judged, val_loader, progress=False)
            history.epochs.append(record)
            saving.write(history.epochs, checkpoint)
            if progress and ranks.is_first():
                said(record)
            if log is not None and ranks.is_first():
                log(dict(record), steps)
    training.model.eval()
    return history


def check_loaders(loader: Iterable[Any], val_loader: Iterable[Any] | None) -> None:
    """Raise unless both can be read once an epoch, and ranks train on samples of their own."""
    require_rereadable(loader, "The loader", "training reads it once an epoch")
    check_sharded(loader)
    if val_loader is not None:
        require_rereadable(val_loader, "val_loader", "it is read after every epoch")


def _epoch(
    training: Training, loader: Iterable[Any], epoch: int, bar: Bar, saving: StepCheckpoint
) -> dict[str, float] | None:
    """Train for one epoch; return its figures, or None if the loss or a weight is not finite."""
    rate, n_batches = training.begin_epoch(epoch), batch_count(loader)
    within = saving.resume(epoch)
    before, begun, state = within.seconds, None, within.random
    began = perf_counter()
    training.objective.train()
    with seeded(training.settings.seed, epoch, loader):
        if state is not None:
            begun = gone_on(loader, within.steps, lambda: set_random_state(state, loader))
            for _ in range(within.steps):
                bar.advance()
        # Where an epoch goes on behind its last step, no batch is left.
        known: dict[str, Any] = {"begun": begun, "repeated": True, "empty": begun is not None}
        reading = batches(loader, training.model, training.objective.n_classes, **known)
        for group in in_groups(reading, training.settings.accumulate):
            training.set_epoch(epoch + within.steps / (n_batches or inf))
            result = training.step(group, within.steps)
            if result is None:
                return None
            loss, logits = result
            labels = torch.cat([y for _, y in group])
            within.n_correct += int((logits.argmax(1) == labels).sum())
            within.n_samples += len(labels)
            within.loss += loss * len(labels)
            within.steps += len(group)
            within.seconds = before + perf_counter() - began
            saving.after(epoch, within, loader)
            for _ in group:
                bar.advance(
                    f"epoch {epoch + 1}  loss {within.loss / within.n_samples:.3f}  "
                    f"accuracy {100 * within.n_correct / within.n_samples:.1f} %"
                )
    if not all(torch.isfinite(p).all() for p in training.model.parameters()):
        return None
    figures = ranks.on_all(lambda: (within.loss, within.n_correct, within.n_samples))
    total, n_correct, n_samples = map(sum, zip(*figures, strict=True))
    return {
        "epoch": epoch + 1,
        "loss": total / n_samples,
        "accuracy": n_correct / n_samples,
        "lr": rate,
        "seconds": before + perf_counter() - began,
        "steps": -(-within.steps // training.settings.accumulate),
    }


@contextmanager
def _norms_for(model: nn.Module, n_samples: int) -> Iterator[None]:
    """Let batch norms use what they know where a batch is one sample, which has no spread."""
    kinds = (nn.modules.batchnorm._BatchNorm,)
    known = [m for m in model.modules() if isinstance(m, kinds) and m.training]
    for module in known if n_samples == 1 else ():
        module.eval()
    try:
        yield
    finally:
        for module in known:
            module.train()


def _state(model: nn.Module) -> dict[str, Tensor]:
    return {key: value.detach().clone() for key, value in model.state_dict().items()}


def _precision(amp: str, device: torch.device) -> torch.dtype | None:
    if amp == "auto" and device.type == "cuda":
        amp = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    return {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(amp)
