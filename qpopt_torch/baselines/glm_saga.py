"""glm_saga: the last layer, made sparse by an elastic net; nothing else is trained."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from torch import nn

from qpopt_torch.baselines.base import begun, classifier, sparsest_within
from qpopt_torch.baselines.elastic_net import ElasticNet, Fit
from qpopt_torch.baselines.weighted_head import WeightedHead
from qpopt_torch.network.head_finder import HeadLike
from qpopt_torch.sparse.classifier import SparseClassifier

MIXING = 0.99
N_STRENGTHS, WEAKEST = 100, 1e-3
"""How many strengths there are on the path, and the last as a share of the first."""
HALVINGS = 12
"""How often the strength between two points of the path is halved at most."""

logger = logging.getLogger("qpopt")


def glm_saga(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_per_class: int,
    head: HeadLike = None,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SparseClassifier:
    """Replace the head by the elastic net that uses a few features a class on average.

    Which features it uses, and how many in all, comes out as it does; classes may have more or
    fewer than the average.

    Parameters
    ----------
    model
        The trained classifier; it is not changed.
    loader
        Training batches, without random changes.
    n_per_class
        Features of a class, on average.
    head, class_names, progress
        As in `sparsify`.
    seed
        Decides which tenth of the samples is held out to report the accuracy.
    """
    core, found, _, samples = begun(model, loader, head, seed=seed, progress=progress)
    fit = fit_of_size(samples.net(mixing=MIXING), n_per_class * found.n_classes)
    used = fit.weight.any(0).nonzero().flatten().tolist()
    own, weights = samples.columns(used), fit.weight[:, used]
    logger.info(
        "glm-saga: %d features, %.2f a class, accuracy %.4f on held-out samples",
        *(len(used), fit.n_used / found.n_classes, own.accuracy(weights, fit.bias)),
    )
    sparse_head = WeightedHead(used, weights, fit.bias, own.mean, own.std, dropout=0.0)
    return classifier(core, found, sparse_head, class_names)


def fit_of_size(net: ElasticNet, n: int) -> Fit:
    """Return the fit with at most n weights, as many as a search between two strengths gives."""
    fit, after = sparsest_within(net, net.strengths(N_STRENGTHS, WEAKEST), n)
    for _ in range(HALVINGS if after is not None else 0):
        assert after is not None
        if fit.n_used == n:
            break
        between = net.fit((fit.strength * after.strength) ** 0.5, fit)
        fit, after = (between, after) if between.n_used <= n else (fit, between)
    return fit
