"""A small trainable layer between a frozen network and the fixed assignment."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn


class Adapter(nn.Module):
    """Mixes all features of a network into the selected ones.

    It starts as the plain selection: before training nothing has changed. It works in standard
    units, so that features of every size are learnt equally fast, and answers in the units of the
    selected features.

    Parameters
    ----------
    mean, std
        Mean and standard deviation of all features of the network; a deviation of 0 counts as 1.
    selection
        Indices of the selected ones, to start from.
    hidden
        Width of an additional path with one ReLU layer; 0 for a linear adapter.
    """

    mean: Tensor
    std: Tensor
    selection: Tensor

    def __init__(
        self, mean: ArrayLike, std: ArrayLike, selection: ArrayLike, *, hidden: int = 0
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
        self.hidden = hidden
        self.mlp: nn.Sequential | None = None
        if hidden:
            last = nn.Linear(hidden, n_select, bias=False)
            nn.init.zeros_(last.weight)
            self.mlp = nn.Sequential(nn.Linear(n_features, hidden), nn.ReLU(), last)

    def blur(self, received: Tensor, chance: float) -> Tensor:
        """Return features of which some, by chance, are replaced by their mean."""
        kept = F.dropout(torch.ones_like(received), chance) > 0
        return torch.where(kept, received, self.mean)

    def forward(self, received: Tensor) -> Tensor:
        """Return … × n_select of … × n_features."""
        standard = (received.to(self.mean.dtype) - self.mean) / self.std
        mixed: Tensor = self.linear(standard)
        if self.mlp is not None:
            mixed = mixed + self.mlp(standard)
        return mixed * self.std[self.selection] + self.mean[self.selection]
