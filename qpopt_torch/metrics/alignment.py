"""Whether features follow attributes that people have named."""

from __future__ import annotations

from operator import add
from typing import ClassVar

import torch
from torch import Tensor

from qpopt_torch.metrics.metric import Metric


class FeatureAlignment(Metric):
    """Feature alignment: how much the best-fitting attribute raises a feature.

        mean_d max_a (mean f_d where a is present − mean f_d where a is absent)
                     / mean(f_d − min f_d)

    Attributes that are always or never present are left out; a feature that never changes counts 0.

    Parameters
    ----------
    n_features
        The number of features.
    n_attributes
        The number of attributes.
    """

    title = "Feature alignment"
    meaning = "features follow attributes that people have named"
    states: ClassVar = {
        "n_samples": add,
        "n_present": add,
        "sums": add,
        "sums_present": add,
        "minima": torch.minimum,
    }

    def __init__(self, n_features: int, n_attributes: int) -> None:
        self.n_samples = 0
        self.n_present = torch.zeros(n_attributes, dtype=torch.float64)
        self.sums = torch.zeros(n_features, dtype=torch.float64)
        self.sums_present = torch.zeros(n_attributes, n_features, dtype=torch.float64)
        self.minima = torch.full((n_features,), float("inf"), dtype=torch.float64)

    def update(self, features: Tensor, attributes: Tensor) -> None:
        """Add a batch: pooled features and 0/1 attributes, both with one row a sample."""
        if not len(features):
            return
        values = features.detach().double().cpu()
        present = attributes.cpu().double()
        self.n_samples += len(values)
        self.n_present += present.sum(dim=0)
        self.sums += values.sum(dim=0)
        self.sums_present += present.T @ values
        self.minima = torch.minimum(self.minima, values.amin(dim=0))

    def compute(self) -> float:
        """Return the alignment in percent; NaN where no attribute is ever both."""
        varying = (self.n_present > 0) & (self.n_present < self.n_samples)
        if not varying.any():
            return float("nan")
        n_present = self.n_present[varying, None]
        sums_present = self.sums_present[varying]
        with_it = sums_present / n_present
        without_it = (self.sums - sums_present) / (self.n_samples - n_present)
        best = (with_it - without_it).amax(dim=0)
        activation = self.sums / self.n_samples - self.minima
        changing = activation > 1e-12 * self.minima.abs().clamp(min=1e-300)
        aligned = torch.where(changing, best / torch.where(changing, activation, 1.0), 0.0)
        return 100.0 * float(aligned.mean())
