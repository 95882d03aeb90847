"""Finding a learning rate by a few trial steps."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain, count, islice
from math import inf
from typing import Any

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batches
from qpopt_torch.data.seeding import seeded
from qpopt_torch.errors import TrainingError
from qpopt_torch.training.loop import Training
from qpopt_torch.training.objectives import TrainingObjective
from qpopt_torch.training.settings import FineTuning

logger = logging.getLogger("qpopt")


def best_rate(objective: TrainingObjective, loader: Iterable[Any], settings: FineTuning) -> float:
    """Try a few learning rates for some steps on copies; return the one with the lowest loss."""
    losses = {rate: trial(objective, loader, settings, rate) for rate in settings.trials.rates}
    best = min(losses, key=lambda rate: losses[rate])
    if losses[best] == inf:
        raise TrainingError(
            "The loss is not finite at any learning rate; check the inputs, or pass lr."
        )
    best = ranks.on_all(lambda: best)[0]
    logger.info("learning rate %g", best)
    return best


def trial(
    objective: TrainingObjective, loader: Iterable[Any], settings: FineTuning, rate: float
) -> float:
    """Return the mean loss over the second half of a short training of a copy."""
    copy = deepcopy(objective)
    groups = [{"params": [p for p in copy.model.parameters() if p.requires_grad], "lr": rate}]
    training = Training("trial", copy, groups, settings)
    copy.train()
    losses = []
    with seeded(settings.seed, 0, loader):
        endless = chain.from_iterable(
            batches(loader, copy.model, copy.n_classes, repeated=True) for _ in count()
        )
        for x, y in islice(endless, settings.trials.steps):
            result = training.step(x, y)
            if result is None:
                return inf
            losses.append(result[0])
    late = losses[len(losses) // 2 :]
    return sum(late) / len(late)
