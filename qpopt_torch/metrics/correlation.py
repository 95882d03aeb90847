"""How alike the features are."""

from __future__ import annotations

from operator import add
from typing import ClassVar

import torch
from torch import Tensor

from qpopt_torch.metrics.metric import Metric


class Correlation(Metric):
    """Correlation = mean_d max_{d'≠d} cos(f_·d, f_·d') over all samples.

    f are the features that the last layer adds up: of a sparse model the normalised ones.

    Parameters
    ----------
    n_features
        The number of features. With a single one there is nothing to compare, and the value is 0.
    """

    title = "Correlation"
    meaning = "how alike each feature is to the one most like it"
    higher_is_better = False
    states: ClassVar = {"products": add}

    def __init__(self, n_features: int) -> None:
        self.products = torch.zeros(n_features, n_features, dtype=torch.float64)

    def update(self, features: Tensor) -> None:
        """Add a batch of pooled features, samples × features."""
        values = features.detach().double().cpu()
        self.products += values.T @ values

    def compute(self) -> float:
        """Return the correlation in percent. A feature that is always 0 is like none other."""
        lengths = self.products.diagonal().sqrt()
        scale = torch.where(lengths > 0, lengths, 1.0)
        cosines = self.products / (scale[:, None] * scale)
        cosines.fill_diagonal_(-1.0 if len(cosines) > 1 else 0.0)
        return 100.0 * float(cosines.amax(dim=1).mean())
