"""Training the last layers of a network, from activations that are computed once."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from qpopt.io import AnyPath
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batch_count, first_batch
from qpopt_torch.data.inputs import Batch, described
from qpopt_torch.data.inputs import plain as plain_inputs
from qpopt_torch.data.seeding import seeded
from qpopt_torch.data.sharding import digest
from qpopt_torch.errors import ModelError, TrainingError
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.network.observation import evaluating
from qpopt_torch.network.reading.outputs import Output, logits_of
from qpopt_torch.network.tail import Cut, Tail, activations_at, cuts
from qpopt_torch.training.activations import (
    Activations,
    Passes,
    check_size,
    kept_activations,
    samples_in,
)
from qpopt_torch.training.objectives import TrainingObjective
from qpopt_torch.training.settings import PartialTraining

MOST_WORK = 0.25
"""Share of the work of a forward pass that may lie behind a cut that is found by itself."""

logger = logging.getLogger("qpopt")


class TailModel(nn.Module):
    """A model that takes activations at a cut for its inputs."""

    def __init__(self, objective: TrainingObjective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        assert self.objective.tail is not None
        found = self.objective.tail(self.objective.network, x)
        return logits_of(found, self.objective.head.output)


@dataclass
class PartialRun:
    """What a training of the last layers reads in place of inputs.

    Parameters
    ----------
    loader, val_loader
        Batches of activations.
    evaluated
        What takes them to logits.
    """

    loader: Iterable[Any]
    val_loader: Iterable[Any] | None
    evaluated: nn.Module


@contextmanager
def partial_run(
    objective: TrainingObjective,
    loader: Iterable[Any],
    val_loader: Iterable[Any] | None,
    settings: PartialTraining,
    *,
    plain: Iterable[Any] | None,
    keep: AnyPath | None,
    progress: bool,
) -> Iterator[PartialRun]:
    """Cut the network of an objective for the length of the block.

    Parameters
    ----------
    objective
        Its tail is set, and only parameters behind the cut require gradients in the block.
    loader, plain
        Training batches, and the same samples as they are; without the latter those of the former.
    val_loader
        Validation batches.
    settings
        Cut, views, size.
    keep
        A folder in which the activations stay; they are deleted at the end without it.
    progress
        Whether to show a progress bar on a terminal.
    """
    core = objective.network
    plain = loader if plain is None else plain
    x, _ = first_batch(plain, core)
    if settings.views > 1 and (not isinstance(x, Tensor) or x.ndim != 4):
        raise TrainingError(f"Inputs that are {described(x)} cannot be mirrored; set views=1.")
    n_samples = samples_in(plain, len(x))
    output = objective.head.output
    cut = ranks.on_all(lambda: _found(core, x, n_samples, settings, output))[0]
    logger.info(
        "training from %r on, %.0f %% of the work of a forward pass", cut.name, 100 * cut.share
    )
    check_size(n_samples, cut.numbers, settings.views, settings.max_bytes)
    tail = Tail(core, x, cut.name, output)
    flags = [(parameter, parameter.requires_grad) for parameter in core.parameters()]
    with TemporaryDirectory(prefix="qpopt-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch if keep is None else keep)
        # Whatever is trained behind the cut, the activations stay the same.
        said = [fingerprint(core, tail.answers), cut, settings.views, settings.seed]

        def stored(name: str, passes: Passes, *, repeated: bool) -> Activations:
            made: list[Activations] = []
            data = passes[0][0]
            with seeded(settings.seed, 0, data):  # so that what is shuffled comes in one order
                first, _ = first_batch(data, core)
            told = [*said, batch_count(data), len(first), digest(plain_inputs(first))]
            key = hashlib.sha256(" ".join(map(str, told)).encode()).hexdigest()
            ranks.on_all(
                lambda: made.append(
                    kept_activations(
                        folder / f"{name}-{ranks.rank()}.f16",
                        passes,
                        lambda batch, number: activations_at(core, batch, cut.name, number),
                        core,
                        objective.n_classes,
                        key=key,
                        seed=settings.seed,
                        max_bytes=settings.max_bytes,
                        repeated=repeated,
                        progress=progress,
                    )
                )
            )
            return made[0]

        passes: Passes = [(plain, (False, True)[: settings.views])]
        passes += [(loader, (False,))] * (settings.views - 2)
        training = stored("activations", passes, repeated=True)
        validation = None
        if val_loader is not None:
            validation = stored("validation", [(val_loader, (False,))], repeated=False)
        try:
            objective.tail = tail
            objective.check_grids(training.loader(1))
            _freeze_before(objective, training)
            yield PartialRun(
                training.loader(settings.batch_size),
                None if validation is None else validation.loader(settings.batch_size),
                TailModel(objective),
            )
        finally:
            objective.tail = None
            for parameter, flag in flags:
                parameter.requires_grad_(flag)


def _found(
    core: nn.Module,
    x: Batch,
    n_samples: int | None,
    settings: PartialTraining,
    output: Output,
) -> Cut:
    """Return the cut that is asked for, or the earliest one that costs little enough."""
    known = cuts(core, x)
    if settings.from_layer != "auto":
        named = [cut for cut in known if cut.name == settings.from_layer]
        if not named:
            modules = dict(core.named_modules())
            what = "is not called exactly once with a tensor of the batch"
            what = what if settings.from_layer in modules else "is no module of the model"
            near = ", ".join(cut.name for cut in known[-8:])
            raise ModelError(f"from_layer: {settings.from_layer!r} {what}. The last cuts: {near}.")
        return named[0]
    bytes_each = 2 * settings.views * (n_samples or 0)
    fitting = [
        cut
        for cut in known
        if cut.share <= MOST_WORK and bytes_each * cut.numbers <= settings.max_bytes
    ]
    for cut in fitting:
        try:
            Tail(core, x, cut.name, output)
        except ModelError:
            continue  # something goes around it
        return cut
    raise TrainingError(
        "No cut of this network leaves a quarter of the work behind it and activations of at most "
        f"{settings.max_bytes / 1e9:.2f} GB. Name one with from_layer, or raise max_bytes."
    )


def _freeze_before(objective: TrainingObjective, training: Activations) -> None:
    """Let only those parameters require gradients on which the loss depends behind the cut."""
    with torch.random.fork_rng():
        x, y = training[[0, min(1, len(training) - 1)]]
    parameter = next(objective.parameters())
    with evaluating(objective), torch.enable_grad():
        loss, _ = objective(x.to(parameter), y.to(parameter.device))
        trained = [p for p in objective.parameters() if p.requires_grad]
        if not loss.requires_grad:
            raise TrainingError("No parameter behind the cut requires a gradient.")
        slopes = torch.autograd.grad(loss, trained, allow_unused=True)
    for each, slope in zip(trained, slopes, strict=True):
        each.requires_grad_(slope is not None)
