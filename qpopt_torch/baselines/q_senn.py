"""q_senn: rounds of a sparse layer, its weights rounded to one size, and fine-tuning."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.baselines.base import Samples, begun, classifier, keep_largest
from qpopt_torch.baselines.glm_saga import MIXING, N_STRENGTHS, WEAKEST
from qpopt_torch.baselines.sldd import greedy_selection
from qpopt_torch.baselines.training import trained
from qpopt_torch.baselines.weighted_head import WeightedHead
from qpopt_torch.network.head_finder import HeadLike
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.training.features import extract
from qpopt_torch.training.learning_rate import best_rate
from qpopt_torch.training.objectives import TrainingObjective
from qpopt_torch.training.settings import FineTuning, TrainingLike, training_settings

ROUNDS = 4
SHORTER = 4
"""All rounds but the last have a quarter of the epochs."""
SLOWER = 0.9
"""What the learning rate is multiplied by from round to round."""

logger = logging.getLogger("qpopt")


def q_senn(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_select: int,
    n_per_class: int,
    val_loader: Iterable[Any] | None = None,
    statistics_loader: Iterable[Any] | None = None,
    training: TrainingLike = "full",
    head: HeadLike = None,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SparseClassifier:
    """Make a sparse classifier whose features speak for or against a class with equal weight.

    Features are chosen as `sldd` chooses them. Then a sparse layer is fitted to the features of
    the network as it is, rounded to −, 0 and +, and the network trained towards it, four times.

    Parameters
    ----------
    model, loader, n_select, n_per_class, val_loader, statistics_loader, training, head, \
class_names, seed, progress
        As in `sldd`. The rounds before the last take a quarter of the epochs.
    """
    plain = loader if statistics_loader is None else statistics_loader
    core, found, received, samples = begun(model, plain, head, seed=seed, progress=progress)
    own = samples.columns(selection := greedy_selection(samples, n_select))
    kept = n_per_class * found.n_classes
    sparse_head = WeightedHead(
        selection, *rounded_layer(own, kept), own.mean, own.std, trained=True
    )
    sparse = classifier(core, found, sparse_head, class_names)
    settings = training_settings(training)
    if settings is None:
        return sparse
    if isinstance(settings, FineTuning) and isinstance(settings.lr, str) and settings.epochs:
        objective = TrainingObjective(sparse, found, settings.beta)
        settings = replace(settings, lr=best_rate(objective, loader, settings))
    for number in range(ROUNDS):
        if number:
            seen, labels = extract(sparse.network, plain, found, progress=progress)
            own = Samples.of(seen, labels, found.n_classes, seed)
            assert isinstance(sparse.sparse_head, WeightedHead)
            sparse.sparse_head.reweigh(*rounded_layer(own, kept), own.mean, own.std)
        last = number == ROUNDS - 1
        epochs = settings.epochs if last else -(-settings.epochs // SHORTER)
        now = replace(settings, epochs=epochs)
        if not isinstance(settings.lr, str):
            now = replace(now, lr=settings.lr * SLOWER**number)
        following: dict[str, Any] = {"val_loader": val_loader, "progress": progress}
        trained(sparse, core, loader, now, (received, samples.labels), **following)
    return sparse


def rounded_layer(samples: Samples, kept: int) -> tuple[Tensor, Tensor]:
    """Return weights of one size, some of them negative, and biases.

    Parameters
    ----------
    samples
        What the layer is fitted to.
    kept
        How many weights are not 0.
    """
    net = samples.net(mixing=MIXING)
    *_, fit = net.path(net.strengths(N_STRENGTHS, WEAKEST))
    weights = rounded(fit.weight, kept)
    bias = class_bias(weights, float(fit.bias.abs().max()))
    logger.info("Q-SENN: accuracy %.4f on held-out samples", samples.accuracy(weights, bias))
    return weights, bias


def rounded(weights: Tensor, kept: int) -> Tensor:
    """Return the signs of the largest weights, times their mean size."""
    largest = keep_largest(weights, kept)
    size = largest.abs().sum() / (largest != 0).sum().clamp_min(1)
    return largest.sign() * size


def class_bias(weights: Tensor, most: float) -> Tensor:
    """Return biases that fall from `most` to −`most` as classes have more features for them."""
    surplus = weights.sign().sum(1)
    least, greatest = surplus.min(), surplus.max()
    if least == greatest:
        return torch.zeros_like(surplus)
    return most - 2 * most * (surplus - least) / (greatest - least)
