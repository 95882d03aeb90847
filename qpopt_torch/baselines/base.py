"""What the rivals share: features to fit on, the weights that are kept, and the training."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.baselines.elastic_net import ElasticNet, Fit
from qpopt_torch.baselines.weighted_head import WeightedHead
from qpopt_torch.data.batches import begin, require_rereadable
from qpopt_torch.errors import ModelError
from qpopt_torch.network.head import Head
from qpopt_torch.network.head_finder import HeadLike, head_of
from qpopt_torch.network.observation import unwrap
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.training.features import extract

FITTED = 0.9
"""Share of the samples that a linear layer is fitted on; the others tell how good it is."""
CHANGE = 1e-5
"""Relative change of the weights at which a fit of a path ends."""
FLATTEST = 1e-5
"""Standard deviation that counts for features that hardly vary."""

logger = logging.getLogger("qpopt")


@dataclass(frozen=True)
class Samples:
    """Features to fit a linear layer on.

    Parameters
    ----------
    features
        Standardised, samples × features.
    labels
        The class of every sample.
    mean, std
        What they were standardised with.
    n_classes
        How many classes there are.
    seed
        Decides which samples are held out.
    """

    features: Tensor
    labels: Tensor
    mean: Tensor
    std: Tensor
    n_classes: int
    seed: int = 0

    @classmethod
    def of(cls, features: Tensor, labels: Tensor, n_classes: int, seed: int) -> Samples:
        """Standardise features."""
        mean, std = features.mean(0), features.std(0, unbiased=False).clamp_min(FLATTEST)
        return cls((features - mean) / std, labels, mean, std, n_classes, seed)

    def columns(self, chosen: Sequence[int]) -> Samples:
        """Return the same samples with some of their features."""
        own = list(chosen)
        mean, std = self.mean[own], self.std[own]
        return Samples(self.features[:, own], self.labels, mean, std, self.n_classes, self.seed)

    def net(self, *, mixing: float, grouped: bool = False) -> ElasticNet:
        """Return the elastic net on nine tenths of the samples."""
        fitted = self._fitted
        x, y = self.features[fitted], self.labels[fitted]
        kind: dict[str, Any] = {"mixing": mixing, "grouped": grouped}
        return ElasticNet(x, y, self.n_classes, **kind, change=CHANGE)

    def accuracy(self, weights: Tensor, bias: Tensor) -> float:
        """Return the accuracy of a linear layer on the samples that are held out."""
        out = ~self._fitted
        logits = self.features[out] @ weights.T + bias
        return float((logits.argmax(1) == self.labels[out]).double().mean())

    @property
    def _fitted(self) -> Tensor:
        chance = torch.Generator().manual_seed(self.seed)
        order = torch.randperm(len(self.labels), generator=chance)
        fitted = torch.zeros(len(order), dtype=torch.bool)
        fitted[order[: max(1, round(FITTED * len(order)))]] = True
        # Of every class, some sample is among them.
        first = {int(y): i for i, y in reversed(list(enumerate(self.labels.tolist())))}
        held = set(range(self.n_classes)) - set(self.labels[fitted].tolist())
        fitted[[first[c] for c in held if c in first]] = True
        return fitted


def begun(
    model: nn.Module,
    loader: Iterable[Any],
    head: HeadLike,
    *,
    seed: int,
    progress: bool,
) -> tuple[nn.Module, Head, Tensor, Samples]:
    """Return the network, its head, what the head receives, and the same as samples to fit."""
    require_rereadable(loader, "The loader", "it is read several times")
    core = unwrap(model)
    found = head_of(core, begin(loader, core)[0], head)
    received, labels = extract(core, loader, found, progress=progress)
    return core, found, received, Samples.of(received, labels, found.n_classes, seed)


def keep_largest(weights: Tensor, n: int) -> Tensor:
    """Return weights of which all but the n largest are 0."""
    sizes = weights.abs().flatten()
    kept = torch.zeros_like(sizes, dtype=torch.bool)
    kept[sizes.topk(min(n, len(sizes))).indices] = True
    return torch.where(kept.view_as(weights), weights, 0.0)


def sparsest_within(net: ElasticNet, strengths: Iterable[float], n: int) -> tuple[Fit, Fit | None]:
    """Return the last fit of a path with at most n weights, and the one after it, if there is."""
    last = net.start
    for fit in net.path(list(strengths)):
        if fit.n_used > n:
            return last, fit
        last = fit
    return last, None


def classifier(
    core: nn.Module, head: Head, sparse_head: WeightedHead, class_names: Sequence[str] | None
) -> SparseClassifier:
    """Return the network with another head."""
    if not torch.isfinite(sparse_head.weights).all():
        raise ModelError("The fitted weights are not finite; are the features?")
    names = None if class_names is None else list(class_names)
    return SparseClassifier(core, head, sparse_head, class_names=names).eval()
