"""The sparse classifier of a solution, before it is trained."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from qpopt import Instance, Solution
from qpopt.preprocessing import sharing_advice
from qpopt_torch.data import distributed as ranks
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.sets.answers import answers_of
from qpopt_torch.sparse.sparse_head import expected_value
from qpopt_torch.statistics.statistics import Statistics

logger = logging.getLogger("qpopt")


def sparse_model(
    model: nn.Module,
    solution: Solution,
    statistics: Statistics,
    loader: Iterable[Any],
    kind: Mapping[str, Any],
    *,
    progress: bool,
) -> SparseClassifier:
    """Build the sparse classifier of a solution, with the class bias that it needs.

    Where budgets differ and values below 0 count as 0, what a feature adds on average cannot be
    told from statistics: it is measured on the batches, once, and stays as it is.

    Parameters
    ----------
    model, solution, statistics
        As in `SparseClassifier.from_solution`.
    loader
        Training batches without augmentation.
    kind
        Its other arguments.
    progress
        Whether to show progress.
    """
    sizes = (np.asarray(solution.assignment) != 0).sum(axis=1)
    given = kind.get("class_bias") is not None or not kind.get("relu", False)
    if given or (sizes == sizes[0]).all():
        return SparseClassifier.from_solution(model, solution, statistics, **kind)
    plain = SparseClassifier.from_solution(
        model, solution, statistics, **{**kind, "class_bias": 0.0}
    ).eval()
    answers, labels = answers_of(plain, loader, title="measuring", progress=progress)
    bias = measured_value(plain.assignment, answers.values, labels)
    return SparseClassifier.from_solution(
        model, solution, statistics, **{**kind, "class_bias": bias}
    )


def measured_value(assignment: ArrayLike, values: ArrayLike, labels: ArrayLike) -> float:
    """Return what a feature adds on average to the logit of a class on its own samples.

    Parameters
    ----------
    assignment
        Classes × selected features, with signs.
    values, labels
        The selected features of samples, as they are added up, and their classes.
    """
    known = np.asarray(labels)
    added = np.asarray(values, dtype=np.float64)
    sums = np.zeros(np.shape(assignment))
    np.add.at(sums, known, added)
    counts = np.bincount(known, minlength=len(sums))[:, None]
    return expected_value(assignment, sums / np.maximum(counts, 1))


def advise(instance: Instance, sparse: SparseClassifier) -> None:
    """Say it where few features are shared, unless the counts alone made `prepare` say it."""
    n_per_class = instance.budgets.total / instance.n_classes
    counts = (instance.n_classes, instance.n_select, n_per_class)
    n_single = int(((sparse.assignment != 0).sum(axis=0) <= 1).sum())
    advice = sharing_advice(*counts, n_single)
    if advice and not sharing_advice(*counts) and ranks.is_first():
        logger.warning("%s", advice)
