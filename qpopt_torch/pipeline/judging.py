"""What a sparse model is worth beside the dense one, and what to say about it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from torch import nn

from qpopt_torch.data import distributed as ranks
from qpopt_torch.metrics.accuracy import accuracy
from qpopt_torch.metrics.evaluate import evaluate
from qpopt_torch.network.head import Head
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.statistics.statistics import Statistics

LOSS = 0.02
"""Accuracy, from 0 to 1, that a sparse model may lose without a warning."""

MEASURED = 512
"""Features of a dense model up to which all of them are measured, which takes time for each."""

logger = logging.getLogger("qpopt")


def measure(
    model: nn.Module,
    sparse: SparseClassifier,
    loader: Iterable[Any],
    head: Head,
    progress: bool,
) -> tuple[float, float]:
    """Measure both models; return their accuracies, and keep all else with the sparse one.

    Of a group of ranks each sees a share of the samples, of which accuracies alone are merged.
    """
    if ranks.active():
        before = accuracy(model, loader, output=head.output, progress=progress)
        return before, accuracy(sparse, loader, progress=progress)
    few = head.n_features <= MEASURED
    dense = evaluate(model, loader, head=head, features=few, progress=progress)
    sparse.metrics["dense"] = dense
    sparse.metrics["sparse"] = after = evaluate(sparse, loader, progress=progress)
    return dense.accuracy, after.accuracy


def judge(dense: float, sparse: float, statistics: Statistics) -> str:
    """Say both accuracies, log them, and warn of what would make the sparse model useless."""
    said = f"accuracy {100 * sparse:.1f} %, of the dense model {100 * dense:.1f} %"
    logger.info(said)
    chance = float(statistics.counts.max()) / statistics.n_samples
    if dense <= chance + min(chance / 2, (1 - chance) / 10):
        logger.warning(
            "The dense model is hardly better than chance: accuracy %.1f %%, where the most "
            "frequent class alone gives %.1f %%. Is it trained, and are the labels in its order?",
            *(100 * dense, 100 * chance),
        )
    if dense - sparse > LOSS:
        logger.warning(
            "The sparse model is %.1f points below the dense one; more features, more of them per "
            "class, or a longer training may help.",
            100 * (dense - sparse),
        )
    return said
