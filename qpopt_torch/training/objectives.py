"""The loss of a dense or sparse model: cross entropy and feature diversity."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from qpopt_torch.network.grids import one_grid
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import hooked, observe
from qpopt_torch.network.tail import Tail
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.training.losses import default_beta, feature_diversity_loss
from qpopt_torch.training.settings import AdapterTraining


class TrainingObjective(nn.Module):
    """Cross entropy and feature diversity of a model, as one module so that DDP sees it whole.

    Parameters
    ----------
    model, head
        A sparse classifier, or a dense model, and its head.
    beta
        Weight of the feature diversity loss; `auto` depends on the kind of network.
    dropout
        Chance that a feature of a dense model is left out in front of its head.
    norms
        `frozen` leaves the statistics of batch norms as they are.
    grids
        `one` trains one of the coarse maps that finer ones are made of, in every step another.
    smoothing
        Label smoothing.

    Attributes
    ----------
    tail
        The part of the network that is trained, from what reaches it; None for all of it.
    """

    def __init__(
        self,
        model: nn.Module,
        head: Head,
        beta: float | str,
        dropout: float = 0.0,
        norms: str = "trained",
        grids: str = "all",
        smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.model, self.head, self.dropout, self.norms = model, head, dropout, norms
        self.grids, self.smoothing = grids, smoothing
        self.tail: Tail | None = None
        self.beta = default_beta(model) if isinstance(beta, str) else beta
        self.n_classes = head.n_classes

    @property
    def network(self) -> nn.Module:
        """The network, with whatever head it has."""
        return self.model.network if isinstance(self.model, SparseClassifier) else self.model

    def train(self, mode: bool = True) -> TrainingObjective:
        """Set the mode of training, but for what stays as it is."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm) and mode:
                module.train(self.norms == "trained")
        return self

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return loss and logits."""
        network = self.network
        module: Any = self.head.modules(network)[0]
        dropping = hooked({}, {module: self._drop})
        drawn = one_grid(network) if self.grids == "one" and self.training else nullcontext()
        with drawn, observe(network, self.head, evaluate=False) as seen, dropping:
            network(x) if self.tail is None else self.tail(network, x)
        smoothing = self.smoothing if self.training else 0.0
        loss = F.cross_entropy(seen.logits.float(), y, label_smoothing=smoothing)
        if seen.maps is not None and self.beta > 0:
            weights = module.weight.flatten(1)
            loss = loss + self.beta * feature_diversity_loss(
                seen.logits, seen.features, seen.maps, weights
            )
        return loss, seen.logits

    def _drop(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (F.dropout(args[0], self.dropout, self.training), *args[1:])


def blank_norms(model: nn.Module) -> int:
    """Return how many batch norms have the mean 0 and the variance 1 everywhere."""
    norms = (m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm))
    known = ((m.running_mean, m.running_var) for m in norms)
    return sum(
        mean is not None and var is not None and not mean.any() and bool((var == 1).all())
        for mean, var in known
    )


class AdapterObjective(nn.Module):
    """The objective of a sparse head with an adapter, on features some of which are left out.

    Beside the cross entropy it charges the mean feature, as it is added up.
    """

    def __init__(self, head: SparseHead, settings: AdapterTraining) -> None:
        super().__init__()
        self.model, self.settings, self.n_classes = head, settings, len(head.assignment)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return loss and logits."""
        assert self.model.adapter is not None
        features = self.model.select(self.model.adapter.blur(x, self.settings.noise))
        logits = self.model.classify(features)
        loss = F.cross_entropy(logits, y, label_smoothing=self.settings.smoothing)
        if self.settings.sparsity > 0:
            loss = loss + self.settings.sparsity * self.model.normalise(features).abs().mean()
        return loss, logits
