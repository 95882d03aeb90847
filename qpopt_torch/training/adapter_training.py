"""train_adapter: only an adapter is trained, on the features of a frozen network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from qpopt.io import AnyPath
from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import check_features
from qpopt_torch.data.telling import spoken
from qpopt_torch.errors import LoaderError, ModelError, shown
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.training.loop import History, Log, Training, train
from qpopt_torch.training.objectives import AdapterObjective
from qpopt_torch.training.settings import AdapterTraining, require_settings


@spoken
def train_adapter(
    head: SparseHead,
    features: ArrayLike | Tensor,
    labels: ArrayLike | Tensor,
    settings: AdapterTraining | None = None,
    *,
    validation: tuple[ArrayLike | Tensor, ArrayLike | Tensor] | None = None,
    checkpoint: AnyPath | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Give a sparse head an adapter and train it on features that are at hand, in place.

    Parameters
    ----------
    head
        The head; it ends in evaluation mode, with an adapter. Without epochs nothing is trained,
        and it stays as it is: an adapter with a ReLU would change what it says.
    features
        What the network gives, N × all features.
    labels
        The class of every sample.
    settings
        Kind of adapter and schedule.
    validation
        Features and labels to measure the accuracy after every epoch.
    checkpoint, log, progress
        As in `fine_tune`, which also says what is returned.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> features, labels = qpopt_torch.extract(model, loader, sparse.head, progress=False)
    >>> settings = qpopt_torch.AdapterTraining(epochs=5)
    >>> _ = qpopt_torch.train_adapter(
    ...     sparse.sparse_head, features, labels, settings, progress=False
    ... )
    >>> sparse.sparse_head.adapter.hidden > 0
    True
    """
    if not isinstance(head, SparseHead):
        raise ModelError(f"train_adapter trains a SparseHead, not {shown(head)}.")
    settings = AdapterTraining() if settings is None else settings
    require_settings(settings, AdapterTraining)
    device = head.mean.device
    features, labels = (part.to(device) for part in _checked(head, features, labels))
    if validation is not None:
        if not isinstance(validation, Sequence) or len(validation) != 2:
            raise LoaderError("validation must be a pair of features and labels.")
        validation = _checked(head, *validation)
        if validation[0].shape[1] != features.shape[1]:
            raise LoaderError("validation has another number of features than the training.")
    if not settings.epochs:
        head.eval()
        return History()
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        head.adapter = Adapter(
            features.mean(0),
            features.std(0, unbiased=False),
            head.selection.cpu(),
            hidden=settings.hidden if settings.kind == "mlp" else 0,
            relu=settings.relu and settings.kind == "mlp",
        ).to(head.mean)
    groups = [{"params": list(head.adapter.parameters()), "lr": settings.lr}]
    # Whole batches are taken by their indices: one by one, samples would take longer than steps.
    members = BatchSampler(RandomSampler(range(len(labels))), settings.batch_size, drop_last=False)
    first = ranks.is_first()
    with ranks.alone():
        history = train(
            Training("adapter", AdapterObjective(head, settings), groups, settings),
            DataLoader(TensorDataset(features, labels), batch_size=None, sampler=members),
            val_loader=None if validation is None else [validation],
            checkpoint=checkpoint if first else None,
            log=log if first else None,
            progress=progress and first,
        )
    head.adapter.describe(features)
    ranks.share(head)
    return history


def _checked(
    head: SparseHead, features: ArrayLike | Tensor, labels: ArrayLike | Tensor
) -> tuple[Tensor, Tensor]:
    """Return features in the precision of a head, and labels, if they can be of its network."""
    values, classes = check_features(features, labels, len(head.assignment))
    if values.shape[1] <= int(head.selection.max()):
        raise LoaderError(
            f"The head selects feature {int(head.selection.max())}, but there are only "
            f"{values.shape[1]} features; pass all that the network gives."
        )
    return values.to(head.mean.dtype), classes
