"""The feature diversity loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn

CONVOLUTIONAL, TRANSFORMER = 0.196, 0.0245
"""Published weights of the loss, for maps of any size."""


def feature_diversity_loss(
    logits: Tensor, features: Tensor, maps: Tensor, weights: Tensor
) -> Tensor:
    """Reward features of the predicted class for looking at different places.

    For a sample with predicted class ĉ, features f and maps M,

        L = − Σ_xy max_d [ softmax_xy(M^d) · f_d / max f · |w_ĉd| / ‖w_ĉ‖₂ ],

    averaged over the batch.

    Parameters
    ----------
    logits
        N × classes; they decide ĉ.
    features
        Pooled features, N × D.
    maps
        N × D × positions (one or several axes).
    weights
        w, classes × D.

    Returns
    -------
    Tensor
        One number, at most 0 for features that are not negative.

    Examples
    --------
    >>> import torch
    >>> import qpopt_torch
    >>> apart = 30 * torch.eye(2).reshape(1, 2, 2)  # one sample, two features, two places
    >>> alike = 30 * torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    >>> logits, features, weights = torch.tensor([[1.0]]), torch.ones(1, 2), torch.ones(1, 2)
    >>> for maps in (apart, alike):
    ...     print(f"{qpopt_torch.feature_diversity_loss(logits, features, maps, weights):.3f}")
    -1.414
    -0.707
    """
    positions = maps.flatten(2).float()
    values = features.float()
    rows = weights.float()[logits.argmax(1)]
    rows = rows.abs() / rows.norm(dim=1, keepdim=True).clamp_min(1e-12)
    largest = values.amax(1, keepdim=True)
    # Where no feature is positive there is nothing to spread.
    shares = torch.where(largest > 0, values / largest.clamp_min(1e-12), torch.zeros_like(values))
    weighted = positions.softmax(2) * (shares * rows)[..., None]
    diversity: Tensor = weighted.amax(1).sum(1).mean()
    return -diversity


def default_beta(network: nn.Module) -> float:
    """Return the published weight of the loss: that of transformers, or of all other networks.

    A transformer has attention and layer norms. Attention beside batch norms, in blocks that weigh
    channels or places, belongs to a convolutional network.
    """
    kinds = {type(module).__name__.lower() for module in network.modules()}
    attends = any("attention" in kind for kind in kinds)
    normalises = any("layernorm" in kind or "rmsnorm" in kind for kind in kinds)
    return TRANSFORMER if attends and normalises else CONVOLUTIONAL
