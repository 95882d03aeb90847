"""evaluate: every metric of a model, in one pass over each loader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from qpopt_torch.errors import LoaderError
from qpopt_torch.metrics.accuracy import Accuracy
from qpopt_torch.metrics.alignment import FeatureAlignment
from qpopt_torch.metrics.contrastiveness import Contrastiveness
from qpopt_torch.metrics.correlation import Correlation
from qpopt_torch.metrics.diversity import Diversity
from qpopt_torch.metrics.grounding import structural_grounding
from qpopt_torch.metrics.independence import ClassIndependence
from qpopt_torch.metrics.summary import Metrics
from qpopt_torch.metrics.watched import Watched
from qpopt_torch.sparse.classifier import Features

PRESENT = 0.5
"""An attribute counts as present in a class when more than this share of people saw it."""


def evaluate(
    model: nn.Module,
    loader: Iterable[Any],
    train_loader: Iterable[Any] | None = None,
    attributes: ArrayLike | None = None,
    *,
    progress: bool = True,
) -> Metrics:
    """Measure how good and how readable a model is, dense or sparse.

    Parameters
    ----------
    model
        A classifier; it runs in evaluation mode and is left as it was.
    loader
        Batches of inputs and labels. Accuracy, SID@5 and diversity@5 are measured on them.
    train_loader
        Training batches, on which the other metrics are measured; without it, those of `loader`.
    attributes
        What people say of the classes, classes × attributes, from 0 to 1.
    progress
        Whether to show a progress bar on a terminal.
    """
    watched = Watched(model, loader)
    meter = Meter(watched.weights, attributes)
    for _, labels, seen in watched.batches(watched.loader, "evaluate", progress=progress):
        meter.add_decisions(seen, labels)
        if train_loader is None:
            meter.add_features(seen, labels)
    if train_loader is not None:
        for _, labels, seen in watched.batches(train_loader, "training set", progress=progress):
            meter.add_features(seen, labels)
    return meter.compute(from_training=train_loader is not None)


class Meter:
    """Accumulates every metric of one model.

    Parameters
    ----------
    weights
        The last layer, classes × features.
    attributes
        Classes × attributes, or None.
    """

    def __init__(self, weights: Tensor, attributes: ArrayLike | None = None) -> None:
        self.weights = weights
        n_classes, n_features = weights.shape
        self.attributes = None if attributes is None else _checked(attributes, n_classes)
        self.accuracy = Accuracy()
        self.sid = Diversity(weights)
        self.diversity = Diversity(weights, scale_invariant=False)
        self.independence = ClassIndependence(n_classes, n_features)
        self.contrastiveness = Contrastiveness()
        self.correlation = Correlation(n_features)
        self.alignment: FeatureAlignment | None = None
        if self.attributes is not None:
            self.alignment = FeatureAlignment(n_features, self.attributes.shape[1])
        self.n_feature_samples = 0

    def add_decisions(self, seen: Features, labels: Tensor) -> None:
        """Add a batch to the metrics of decisions."""
        self.accuracy.update(seen.logits, labels)
        if seen.maps is not None:
            self.sid.update(seen.maps, seen.logits)
            self.diversity.update(seen.maps, seen.logits)

    def add_features(self, seen: Features, labels: Tensor) -> None:
        """Add a batch to the metrics of features."""
        self.n_feature_samples += len(labels)
        self.independence.update(seen.features, labels)
        self.contrastiveness.update(seen.features)
        self.correlation.update(seen.features)
        if self.alignment is not None and self.attributes is not None:
            present = self.attributes > PRESENT
            self.alignment.update(seen.features, present[labels.cpu()])

    def compute(self, *, from_training: bool = False) -> Metrics:
        """Return all metrics; `from_training` says that the features were those of training."""
        used = self.weights != 0
        has_maps = self.sid.n_samples > 0
        grounding = None
        if self.attributes is not None:
            grounding = structural_grounding(self.weights, self.attributes)
        return Metrics(
            accuracy=self.accuracy.compute(),
            n_features=int(used.any(dim=0).sum()),
            n_per_class=float(used.sum(dim=1).double().mean()),
            sid5=self.sid.compute() if has_maps else None,
            diversity5=self.diversity.compute() if has_maps else None,
            class_independence=self.independence.compute(),
            contrastiveness=self.contrastiveness.compute(),
            correlation=self.correlation.compute(),
            structural_grounding=grounding,
            feature_alignment=None if self.alignment is None else self.alignment.compute(),
            n_samples=self.accuracy.n_samples,
            n_train_samples=self.n_feature_samples if from_training else 0,
        )


def _checked(attributes: ArrayLike, n_classes: int) -> Tensor:
    values = torch.as_tensor(attributes).double().cpu()
    if values.ndim != 2 or len(values) != n_classes:
        raise LoaderError(
            f"attributes have the shape {tuple(values.shape)}; they need one row for each of the "
            f"{n_classes} classes."
        )
    if not bool(((values >= 0) & (values <= 1)).all()):
        raise LoaderError("attributes must lie between 0 and 1.")
    return values
