"""Whether the features behind a decision look at different places."""

from __future__ import annotations

from operator import add
from typing import ClassVar

import torch
from torch import Tensor

from qpopt_torch.metrics.metric import Metric


class Diversity(Metric):
    """SID@k: how much of the image the k features of a decision cover.

    For a sample with predicted class ĉ, let D be the k features with the highest weights of ĉ and
    S^d the softmax of feature map d over its positions. The value of the sample is

        Σ_xy max_{d ∈ D} S^d_xy / k,

    1 where all k features look at different places, 1/k where all look at the same one. The metric
    is the mean over all samples. SID@k divides every map by its mean absolute value first, which
    makes it independent of the scale of the maps.

    Parameters
    ----------
    weights
        The last layer, classes × features. A class with fewer than `k` weights other than 0 is
        judged by those that it has.
    k
        How many features of a decision count.
    """

    title = "SID@5"
    meaning = "the features of a decision look at different places"
    states: ClassVar = {"total": add, "n_samples": add}

    scale_invariant: ClassVar = True

    def __init__(self, weights: Tensor, k: int = 5) -> None:
        self.weights, self.k = weights.detach(), k
        self.total, self.n_samples = 0.0, 0

    def update(self, maps: Tensor, logits: Tensor) -> None:
        """Add a batch: feature maps, samples × features × positions …, and the logits."""
        weights = self.weights.to(maps.device)[logits.argmax(dim=1)]
        top = weights.topk(min(self.k, weights.shape[1]), dim=1)
        counted = top.values != 0
        flat = maps.detach().flatten(2).double()
        index = top.indices[:, :, None].expand(-1, -1, flat.shape[2])
        flat = flat.gather(1, index)
        if self.scale_invariant:
            there = torch.isfinite(flat)  # positions that only fill up the batch hold −inf
            sizes = flat.abs().masked_fill(~there, 0.0).sum(dim=2, keepdim=True)
            scale = sizes / there.sum(dim=2, keepdim=True).clamp(min=1)
            flat = flat / torch.where(scale > 0, scale, 1.0)
        spread = flat.softmax(dim=2) * counted[:, :, None]
        covered = spread.amax(dim=1).sum(dim=1) / counted.sum(dim=1).clamp(min=1)
        self.total += float(covered.sum())
        self.n_samples += len(maps)

    def compute(self) -> float:
        """Return the mean in percent; NaN without samples."""
        return 100.0 * self.total / self.n_samples if self.n_samples else float("nan")


class PlainDiversity(Diversity):
    """Diversity@k: SID@k of maps that are taken as they are."""

    title = "Diversity@5"
    meaning = "the same, without evening out the strength of the maps"
    scale_invariant = False
