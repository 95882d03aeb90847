"""Training a rival exactly as a sparse classifier is trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.training.adapter_training import train_adapter
from qpopt_torch.training.features import extract
from qpopt_torch.training.fine_tuning import fine_tune
from qpopt_torch.training.settings import FineTuning, TrainingLike, training_settings


def trained(
    sparse: SparseClassifier,
    dense: nn.Module,
    loader: Iterable[Any],
    training: TrainingLike,
    received: tuple[Tensor, Tensor],
    *,
    val_loader: Iterable[Any] | None = None,
    progress: bool = True,
) -> SparseClassifier:
    """Train a sparse classifier in place and return it.

    Parameters
    ----------
    sparse, dense
        The classifier, and the network that it was made from.
    loader, training, val_loader, progress
        As in `sparsify`.
    received
        What the head of that network receives, and labels: an adapter is trained on it.
    """
    settings = training_settings(training)
    if isinstance(settings, FineTuning):
        fine_tune(sparse, loader, settings, val_loader=val_loader, progress=progress)
    elif settings is not None:
        held: dict[str, Any] = {}
        if val_loader is not None:
            held["validation"] = extract(dense, val_loader, sparse.head, progress=progress)
        sparse.requires_grad_(False)
        train_adapter(sparse.sparse_head, *received, settings, progress=progress, **held)
    return sparse.eval()
