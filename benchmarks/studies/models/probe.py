"""A linear layer on features of a network that stays as it is."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BATCH, RATE = 128, 1e-3
"""Samples of a step, and the learning rate unless another is given."""


def fit_probe(
    linear: nn.Linear, features: Tensor, labels: Tensor, *, epochs: int, seed: int, lr: float = RATE
) -> None:
    """Fit a linear layer to features, in place.

    It is trained on features in standard units, which it then takes as they are.

    Parameters
    ----------
    linear
        The layer.
    features, labels
        Of the training samples.
    epochs, lr
        Passes over them, and the learning rate of AdamW, which falls along a cosine.
    seed
        Fixes the order of the samples.
    """
    mean, std = features.mean(0), features.std(0, unbiased=False).clamp_min(1e-6)
    order = torch.Generator().manual_seed(seed)
    fitted = nn.Linear(linear.in_features, linear.out_features)
    with torch.no_grad():
        for values in fitted.parameters():
            values.zero_()
    optimizer = torch.optim.AdamW(fitted.parameters(), lr=lr, weight_decay=1.0)
    n_steps = epochs * -(-len(labels) // BATCH)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, n_steps))
    for _ in range(epochs):
        for members in torch.split(torch.randperm(len(labels), generator=order), BATCH):
            logits = fitted((features[members] - mean) / std)
            loss = F.cross_entropy(logits, labels[members], label_smoothing=0.1)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            falling.step()
    with torch.no_grad():
        linear.weight.copy_(fitted.weight / std)
        linear.bias.copy_(fitted.bias - (fitted.weight * mean / std).sum(1))
