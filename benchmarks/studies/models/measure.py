"""The figures of one model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import nn

from benchmarks.studies.models.task import Task
from qpopt_torch import SparseClassifier, evaluate

Figures = dict[str, float | None]

SHOWN = (
    "accuracy",
    "sid5",
    "class_independence",
    "contrastiveness",
    "structural_grounding",
    "correlation",
)
"""The metrics of a table."""


def measured(model: nn.Module, task: Task) -> Figures:
    """Return the metrics of a model in percent, and counts of its features and pairs.

    Parameters
    ----------
    model
        Dense or sparse.
    task
        Gives the samples; features are judged by those of the training.
    """
    metrics = evaluate(model, task.test, task.plain, task.attributes, progress=False)
    percent = metrics.percent()
    figures: Figures = {key: percent[key] for key in SHOWN}
    if isinstance(model, SparseClassifier):
        weights = model.sparse_head.weight.detach().cpu().numpy()
        figures |= {
            "features": float(metrics.n_features),
            "per_class": metrics.n_per_class,
            "pairs": float(contrastive_pairs(weights)),
        }
        if (solution := model.solution) is not None:
            gap = solution.gap
            figures |= {"solve": solution.seconds, "gap": None if gap is None else 100 * gap}
    return figures


def contrastive_pairs(weights: NDArray[np.float32]) -> int:
    """Return how many pairs of classes have all features but one in common.

    A feature is common to two classes if it speaks for both or against both.

    Parameters
    ----------
    weights
        Classes × features.
    """
    signs = np.sign(weights)
    common = (np.abs(signs) @ np.abs(signs).T + signs @ signs.T) / 2
    sizes = np.abs(signs).sum(axis=1)
    wanted = np.maximum(sizes[:, None], sizes[None]) - 1
    first, second = np.triu_indices(len(weights), 1)
    return int((common[first, second] == wanted[first, second]).sum())
