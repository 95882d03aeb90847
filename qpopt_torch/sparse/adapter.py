"""A small trainable layer between a frozen network and the fixed assignment."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

PARTS = 3
"""How many features of a mixture are named."""
SLOPE_SAMPLES = 32
"""Samples over which the slopes of an adapter that is not linear are averaged."""


class Adapter(nn.Module):
    """Mixes all features of a network into the selected ones.

    It starts as the plain selection, but for what its ReLU cuts off. It works in standard units, so
    that features of every size are learnt equally fast, and answers in the units of the selected
    features.

    Parameters
    ----------
    mean, std
        Mean and standard deviation of all features of the network; a deviation of 0 counts as 1.
    selection
        Indices of the selected ones, to start from.
    hidden
        Width of an additional path with one ReLU layer; 0 for a linear adapter.
    relu
        Whether a mixture below the mean of its feature counts as that mean: then it is on or off.

    Attributes
    ----------
    leak
        What is left of a mixture below that mean while training: what is off from the beginning
        would never learn to be on.
    """

    mean: Tensor
    std: Tensor
    selection: Tensor
    correlation: Tensor
    part_features: Tensor
    part_shares: Tensor

    def __init__(
        self,
        mean: ArrayLike,
        std: ArrayLike,
        selection: ArrayLike,
        *,
        hidden: int = 0,
        relu: bool = False,
    ) -> None:
        super().__init__()
        deviation = torch.as_tensor(std).float()
        self.register_buffer("mean", torch.as_tensor(mean).float())
        self.register_buffer("std", torch.where(deviation > 0, deviation, 1.0))
        self.register_buffer("selection", torch.as_tensor(selection))
        n_features, n_select = len(self.mean), len(self.selection)
        self.linear = nn.Linear(n_features, n_select)
        with torch.no_grad():
            self.linear.weight.zero_()
            self.linear.weight[torch.arange(n_select), self.selection] = 1.0
            self.linear.bias.zero_()
        self.hidden, self.relu, self.leak = hidden, relu, 0.0
        self.mlp: nn.Sequential | None = None
        if hidden:
            last = nn.Linear(hidden, n_select, bias=False)
            nn.init.zeros_(last.weight)
            self.mlp = nn.Sequential(nn.Linear(n_features, hidden), nn.ReLU(), last)
        n_parts = min(PARTS, n_features)
        self.register_buffer("correlation", torch.ones(n_select))
        self.register_buffer("part_features", torch.zeros(n_select, n_parts, dtype=torch.int64))
        self.register_buffer("part_shares", torch.zeros(n_select, n_parts))
        self.describe(self.mean.expand(1, -1))

    @torch.no_grad()
    def describe(self, received: Tensor) -> None:
        """Write down what the mixtures have become, in three buffers that are saved with them.

        `correlation` is that of every mixture with the feature that it started from.
        `part_features` and `part_shares` name the features that it follows most: its mean absolute
        slopes, all in deviations, as shares of their sum. Those of a linear adapter are its
        weights.

        Parameters
        ----------
        received
            Features of samples, N × n_features.
        """
        if len(received) > 1:
            pair = (received[:, self.selection], self(received))
            first, second = (values.double() - values.double().mean(0) for values in pair)
            sizes = first.norm(dim=0) * second.norm(dim=0)
            self.correlation.copy_((first * second).sum(0) / sizes.clamp_min(1e-12))
        slopes = self._slopes(received[:SLOPE_SAMPLES])
        shares = slopes / slopes.sum(1, keepdim=True).clamp_min(1e-12)
        top = shares.topk(self.part_shares.shape[1], dim=1)
        self.part_features.copy_(top.indices)
        self.part_shares.copy_(top.values)

    def _slopes(self, received: Tensor) -> Tensor:
        """Return the mean absolute slope of every mixture in every feature, in deviations."""
        if self.mlp is None:
            return self.linear.weight.abs()
        inner, _, outer = self.mlp
        standard = self._standard(received)
        bent = (outer.weight * sample @ inner.weight for sample in inner(standard) > 0)
        # A mixture that is off follows nothing.
        free = self._mixed(standard) > 0 if self.relu else standard.new_ones(len(standard), 1)
        slopes = [(self.linear.weight + each).abs() for each in bent]
        return torch.stack([s * f[:, None] for s, f in zip(slopes, free, strict=True)]).mean(0)

    def _standard(self, received: Tensor) -> Tensor:
        return (received.to(self.mean.dtype) - self.mean) / self.std

    def _mixed(self, standard: Tensor) -> Tensor:
        mixed: Tensor = self.linear(standard)
        return mixed if self.mlp is None else mixed + self.mlp(standard)

    def blur(self, received: Tensor, chance: float) -> Tensor:
        """Return features of which some, by chance, are replaced by their mean."""
        kept = F.dropout(torch.ones_like(received), chance) > 0
        return torch.where(kept, received, self.mean)

    def forward(self, received: Tensor) -> Tensor:
        """Return … × n_select of … × n_features."""
        mixed = self._mixed(self._standard(received))
        if self.relu:
            mixed = F.leaky_relu(mixed, self.leak) if self.training else mixed.relu()
        return mixed * self.std[self.selection] + self.mean[self.selection]
