"""The feature grounding loss."""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST = 0.01
"""What activations are divided by at least."""


def feature_grounding_loss(
    activations: Tensor, labels: Tensor, assignment: Tensor, others: float = 2.0
) -> Tensor:
    """Reward features for being active in the classes that they serve, and in no other.

    For a sample of class y, with the features T of that class and activations f̃,

        L = [ ω · mean_{d ∉ T} f̃_d − mean_{d ∈ T} f̃_d ] / max(0.01, max_d |f̃_d|),

    averaged over the batch; the mean over no feature is 0.

    Parameters
    ----------
    activations
        Normalised features as they enter the logits, N × D.
    labels
        The true class of every sample.
    assignment
        Classes × D; a feature serves a class where it is above 0.
    others
        ω: what a feature of another class weighs. The published results used 2; 1 compares the
        two means evenly.

    Returns
    -------
    Tensor
        One number.

    Examples
    --------
    Class 0 has the first two of four features; (2 · 0.5 − 3) / 4 is −0.5.

    >>> import torch
    >>> import qpopt_torch
    >>> features = torch.tensor([[4.0, 2.0, 1.0, 0.0]])
    >>> assignment = torch.tensor([[1, 1, 0, 0]])
    >>> qpopt_torch.feature_grounding_loss(features, torch.tensor([0]), assignment)
    tensor(-0.5000)
    """
    values = activations.float()
    own = assignment[labels] > 0
    inside, outside = (
        torch.where(members, values, 0.0).sum(1) / members.sum(1).clamp_min(1)
        for members in (own, ~own)
    )
    largest = values.abs().amax(1).clamp_min(SMALLEST)
    loss: Tensor = ((others * outside - inside) / largest).mean()
    return loss
