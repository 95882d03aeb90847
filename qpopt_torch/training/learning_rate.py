"""Finding a learning rate by a few trial steps."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import cycle, islice
from math import inf
from pathlib import Path
from typing import Any

from torch import Tensor

from qpopt.io import opened_json, save_json
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batches, in_groups
from qpopt_torch.data.inputs import Batch
from qpopt_torch.data.seeding import seeded
from qpopt_torch.errors import TrainingError
from qpopt_torch.network.fingerprint import fingerprint
from qpopt_torch.training.loop import Training
from qpopt_torch.training.objectives import TrainingObjective
from qpopt_torch.training.settings import FineTuning

MEMORY = 2**30
"""Bytes of inputs that trials keep, and hardly more."""

logger = logging.getLogger("qpopt")


def best_rate(
    objective: TrainingObjective,
    loader: Iterable[Any],
    settings: FineTuning,
    path: Path | None = None,
) -> float:
    """Try a few learning rates for some steps on copies; return the one with the lowest loss.

    Parameters
    ----------
    objective, loader
        What is trained, and on what.
    settings
        Have the rates.
    path
        A file that keeps the trials that are done, so that no later call does them again.
    """
    begun = (
        ""
        if path is None
        else hashlib.sha256(f"{fingerprint(objective.model)} {settings}".encode()).hexdigest()
    )
    losses = ranks.on_first(lambda: _known(path, begun))
    if left := [rate for rate in settings.trials.rates if rate not in losses]:
        kept = _some_batches(objective, loader, settings)
    for rate in left:
        losses[rate] = trial(objective, kept, settings, rate)
        if path is not None and ranks.is_first():
            path.parent.mkdir(parents=True, exist_ok=True)
            said = [[known, None if loss == inf else loss] for known, loss in losses.items()]
            save_json(path, "trials", {"of": begun, "losses": said})
    best = min(losses, key=lambda rate: losses[rate])
    if losses[best] == inf:
        raise TrainingError(
            "The loss is not finite at any learning rate; check the inputs, or pass lr."
        )
    best = ranks.on_all(lambda: best)[0]
    logger.info("learning rate %g", best)
    return best


def _known(path: Path | None, begun: str) -> dict[float, float]:
    """Return the losses of the trials in a file, if they are of the same training."""
    if path is None or not path.exists():
        return {}
    with opened_json(path, "trials") as record:
        if record["of"] != begun:
            return {}
        return {rate: inf if loss is None else loss for rate, loss in record["losses"]}


def trial(
    objective: TrainingObjective,
    kept: Sequence[tuple[Batch, Tensor]],
    settings: FineTuning,
    rate: float,
) -> float:
    """Return the mean loss over the second half of a short training of a copy."""
    copy = deepcopy(objective)
    groups = [{"params": [p for p in copy.model.parameters() if p.requires_grad], "lr": rate}]
    training = Training("trial", copy, groups, settings)
    copy.train()
    losses = []
    with seeded(settings.seed, 0, None):
        reading = islice(cycle(kept), settings.trials.steps * settings.accumulate)
        for group in in_groups(reading, settings.accumulate):
            result = training.step(
                [(x.to(training.device), y.to(training.device)) for x, y in group]
            )
            if result is None:
                return inf
            losses.append(result[0])
    late = losses[len(losses) // 2 :]
    return sum(late) / len(late)


def _some_batches(
    objective: TrainingObjective, loader: Iterable[Any], settings: FineTuning
) -> list[tuple[Batch, Tensor]]:
    """Read the batches of all trials, once: reading may take longer than the steps."""
    kept: list[tuple[Batch, Tensor]] = []
    size = 0
    with seeded(settings.seed, 0, loader):
        for x, y in batches(loader, objective.model, objective.n_classes, repeated=True):
            kept.append((x.cpu(), y.cpu()))
            size += x.nbytes
            if len(kept) == settings.trials.steps * settings.accumulate or size > MEMORY:
                break
    return kept
