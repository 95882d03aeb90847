"""The loss of a dense or sparse model: cross entropy, feature diversity and grounding."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from qpopt_torch.data.batches import first_batch
from qpopt_torch.data.inputs import Batch, call
from qpopt_torch.errors import TrainingError
from qpopt_torch.network.grids import consists_of_grids, one_grid
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import hooked, observe, run
from qpopt_torch.network.reading.outputs import logits_of
from qpopt_torch.network.tail import Tail
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.training.losses.diversity import default_beta, feature_diversity_loss
from qpopt_torch.training.losses.grounding import feature_grounding_loss
from qpopt_torch.training.params import GroundingParams
from qpopt_torch.training.settings import AdapterTraining

N_PROBED = 2
"""Samples by which it is verified that maps consist of grids."""


class TrainingObjective(nn.Module):
    """Cross entropy and losses on features of a model, as one module so that DDP sees it whole.

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
    grounding
        The feature grounding loss of a sparse classifier, or None.

    Attributes
    ----------
    grounding_weight
        What that loss weighs now.
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
        grounding: GroundingParams | None = None,
    ) -> None:
        super().__init__()
        self.model, self.head, self.dropout, self.norms = model, head, dropout, norms
        self.grids, self.smoothing, self.grounding = grids, smoothing, grounding
        self.grounding_weight = 0.0 if grounding is None else grounding.weight
        self.tail: Tail | None = None
        self.beta = default_beta(model) if isinstance(beta, str) else beta
        self.n_classes = head.n_classes

    @property
    def network(self) -> nn.Module:
        """The network, with whatever head it has."""
        return self.model.network if isinstance(self.model, SparseClassifier) else self.model

    def leak(self, share: float) -> None:
        """Let features that are off count by a share."""
        if isinstance(self.model, SparseClassifier):
            self.model.sparse_head.leak = share

    def check_grids(self, loader: Iterable[Any]) -> None:
        """Raise unless maps can be trained one grid at a time, if that is wanted.

        Parameters
        ----------
        loader
            Batches of what reaches the part that is trained.
        """
        if self.grids != "one":
            return
        network, tail = self.network, self.tail
        x, _ = first_batch(loader, network)
        x = x[:N_PROBED]

        def logits() -> Tensor:
            found = run(network, x, 0) if tail is None else tail(network, x)
            return logits_of(found, self.head.output)

        if not consists_of_grids(network, self.head.modules(network)[1], logits):
            raise TrainingError(
                "grids='one' needs maps that finer_maps made finer, trained from a layer in front "
                "of the one whose stride it took away."
            )

    def train(self, mode: bool = True) -> TrainingObjective:
        """Set the mode of training, but for what stays as it is."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm) and mode:
                module.train(self.norms == "trained")
        return self

    def forward(self, x: Batch, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return loss and logits."""
        network = self.network
        module: Any = self.head.modules(network)[0]
        kept: list[Tensor] = []  # features as they enter the logits, some of them left out
        after = {}
        if self.grounding is not None and self.grounding_weight > 0:
            after = {module.dropout: lambda part, args, output: kept.append(output)}
        hooks = hooked(after, {module: self._drop})
        drawn = one_grid(network) if self.grids == "one" and self.training else nullcontext()
        with drawn, observe(network, self.head, evaluate=False) as seen, hooks:
            call(network, x) if self.tail is None else self.tail(network, x)
        smoothing = self.smoothing if self.training else 0.0
        loss = F.cross_entropy(seen.logits.float(), y, label_smoothing=smoothing)
        if self.grounding is not None and kept:
            values = module.normalise(kept[-1])
            # What leaks is below 0; no reward for driving it further down, where it would stay.
            values = values.clamp_min(0.0) if module.relu else values
            loss = loss + self.grounding_weight * feature_grounding_loss(
                values, y, module.assignment, self.grounding.others
            )
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

    def leak(self, share: float) -> None:
        """Let features that are off count by a share."""
        assert self.model.adapter is not None
        self.model.adapter.leak = share

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return loss and logits."""
        assert self.model.adapter is not None
        features = self.model.select(self.model.adapter.blur(x, self.settings.noise))
        logits = self.model.classify(features)
        loss = F.cross_entropy(logits, y, label_smoothing=self.settings.smoothing)
        if self.settings.sparsity > 0:
            loss = loss + self.settings.sparsity * self.model.normalise(features).abs().mean()
        return loss, logits
