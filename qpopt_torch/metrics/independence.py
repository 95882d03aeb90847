"""Whether features are general, or each belongs to one class."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from qpopt_torch.metrics.metric import GroupMetric


class ClassIndependence(GroupMetric):
    """Class-Independence: how little of a feature's activation comes from a single class.

        τ = 1 − mean_d max_c [ Σ_{j∈c} (f_jd − min_j f_jd) / Σ_j (f_jd − min_j f_jd) ]

    100 % would be features that no class dominates, 0 % features that fire for one class only. A
    feature that never changes counts with the share of the most frequent class. The groups are
    the classes.
    """

    title = "Class-Independence"
    meaning = "features are general and do not belong to one class"

    def update(self, features: Tensor, labels: Tensor) -> None:
        """Add a batch: pooled features, samples × features, and the labels."""
        self.add(features, one_hot(labels.long(), len(self.counts)))

    def compute(self) -> float:
        """Return τ in percent; NaN without samples."""
        if not self.counts.any():
            return float("nan")
        above = (self.sums - self.counts[:, None] * self.minima).clamp(min=0)
        totals = above.sum(dim=0)
        # Rounding leaves a trace of activation in constant features; it says nothing of classes.
        noise = 1e-12 * self.counts.sum() * self.minima.abs().clamp(min=1e-300)
        constant = totals <= noise
        shares = above.amax(dim=0) / torch.where(constant, 1.0, totals)
        shares = torch.where(constant, self.counts.max() / self.counts.sum(), shares)
        return 100.0 * float(1.0 - shares.mean())
