"""sldd: features chosen one by one, a sparse layer with real weights, then fine-tuning."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from qpopt_torch.baselines.base import Samples, begun, classifier, keep_largest, sparsest_within
from qpopt_torch.baselines.glm_saga import MIXING, N_STRENGTHS, WEAKEST
from qpopt_torch.baselines.training import trained
from qpopt_torch.baselines.weighted_head import WeightedHead
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.network.head_finder import HeadLike
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.training.settings import TrainingLike

SELECTING = 0.8
"""The mixing of the penalty under which features are chosen."""
FIRST, LAST = 0.1, 1e-4
"""Its strength at the beginning and at the end, as shares of the strongest."""
DENSER = 2
"""How many times as many weights are fitted as are kept."""

logger = logging.getLogger("qpopt")


def sldd(
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
    """Make a sparse classifier by greedy selection and a sparse layer that is fitted.

    Classes have `n_per_class` features on average. Their weights and biases are real numbers and
    stay as they were fitted, while the network, and how features are normalised, is trained.

    Parameters
    ----------
    model, loader, n_select, val_loader, statistics_loader, training, head, class_names, progress
        As in `sparsify`.
    n_per_class
        Features of a class, on average.
    seed
        Decides which tenth of the samples is held out.
    """
    plain = loader if statistics_loader is None else statistics_loader
    core, found, received, samples = begun(model, plain, head, seed=seed, progress=progress)
    selection = greedy_selection(samples, n_select)
    own = samples.columns(selection)
    net, kept = own.net(mixing=MIXING), n_per_class * found.n_classes
    fit, _ = sparsest_within(net, net.strengths(N_STRENGTHS, WEAKEST), DENSER * kept)
    weights = keep_largest(fit.weight, kept)
    logger.info("SLDD: accuracy %.4f on held-out samples", own.accuracy(weights, fit.bias))
    sparse_head = WeightedHead(selection, weights, fit.bias, own.mean, own.std, trained=True)
    sparse = classifier(core, found, sparse_head, class_names)
    following: dict[str, Any] = {"val_loader": val_loader, "progress": progress}
    return trained(sparse, core, loader, training, (received, samples.labels), **following)


def greedy_selection(samples: Samples, n_select: int) -> list[int]:
    """Return features, each the one that a fit on those before it wants most.

    The penalty begins strong, and is weakened whenever no feature outside is wanted.

    Parameters
    ----------
    samples
        What is fitted.
    n_select
        How many features to choose.
    """
    if not 1 <= n_select <= samples.features.shape[1]:
        n_features = samples.features.shape[1]
        raise ModelError(f"n_select must be from 1 to {n_features}, not {shown(n_select)}.")
    net = samples.net(mixing=SELECTING, grouped=True)
    strengths = iter(net.strengths(N_STRENGTHS, LAST, FIRST))
    strength = next(strengths)
    chosen: list[int] = []
    fit = net.start
    while len(chosen) < n_select:
        pulls = net.pull(net.slope(fit))
        pulls[chosen] = -1.0
        best = int(pulls.argmax())
        if float(pulls[best]) > strength * SELECTING:
            chosen.append(best)
        elif (weaker := next(strengths, None)) is not None:
            strength = weaker
        else:
            raise ModelError(
                f"Only {len(chosen)} features help to tell the classes apart; n_select is "
                f"{n_select}."
            )
        fit = net.fit_on(torch.tensor(sorted(chosen), dtype=torch.int64), strength, fit)
    return sorted(chosen)
