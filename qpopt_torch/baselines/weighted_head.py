"""WeightedHead: selected features, normalised and added up by fixed weights of any size."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from qpopt_torch.sparse.sparse_head import DROPOUT, SparseHead


class WeightedHead(SparseHead):
    """A `SparseHead` whose classes weigh their features, with a bias: what rivals end in.

    Its `assignment` says which weights are not 0.

    Parameters
    ----------
    selection, dropout
        As in `SparseHead`.
    weights, bias
        Classes × selected features, and one number a class. Both are fixed.
    mean, std
        As in `SparseHead`.
    trained
        Whether mean and standard deviation are trained with the network.
    """

    weights: Tensor
    bias: Tensor

    def __init__(
        self,
        selection: ArrayLike,
        weights: Tensor,
        bias: Tensor,
        mean: Tensor,
        std: Tensor,
        *,
        dropout: float = DROPOUT,
        trained: bool = False,
    ) -> None:
        used = (weights != 0).cpu().numpy()
        scale = mean.cpu().numpy(), std.cpu().numpy()
        super().__init__(selection, used, *scale, dropout=dropout)
        self.register_buffer("weights", weights.detach().float().clone())
        self.register_buffer("bias", bias.detach().float().clone())
        if trained:
            for name in ("mean", "std"):
                value = getattr(self, name)
                delattr(self, name)
                self.register_parameter(name, nn.Parameter(value))

    @property
    def adds_up(self) -> bool:
        """False: it weighs features."""
        return False

    @property
    def weight(self) -> Tensor:
        """The weights, as in a linear layer."""
        return self.weights

    @property
    def constants(self) -> Tensor:
        """The bias, as in a linear layer."""
        return self.bias

    def classify(self, features: Tensor) -> Tensor:
        """Return the logits of selected features."""
        return F.linear(self.normalise(self.dropout(features)), self.weights, self.bias)

    @torch.no_grad()
    def reweigh(self, weights: Tensor, bias: Tensor, mean: Tensor, std: Tensor) -> None:
        """Take other weights, and the scale of the features that they were fitted on."""
        self.weights.copy_(weights)
        self.assignment.copy_(weights != 0)
        self.bias.copy_(bias)
        self.mean.copy_(mean)
        self.std.copy_(std)
