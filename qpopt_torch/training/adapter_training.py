"""train_adapter: only an adapter is trained, on the features of a frozen network."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import check_features
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.training.loop import History, Log, Training, train
from qpopt_torch.training.objectives import AdapterObjective
from qpopt_torch.training.settings import AdapterTraining


def train_adapter(
    head: SparseHead,
    features: Tensor,
    labels: Tensor,
    settings: AdapterTraining | None = None,
    *,
    validation: tuple[Tensor, Tensor] | None = None,
    log: Log | None = None,
    progress: bool = True,
) -> History:
    """Give a sparse head an adapter and train it on features that are at hand, in place.

    Parameters
    ----------
    head
        The head; it ends in evaluation mode, with an adapter.
    features
        What the network gives, N × all features.
    labels
        The class of every sample.
    settings
        Kind of adapter and schedule.
    validation
        Features and labels to measure the accuracy after every epoch.
    log, progress
        As in `fine_tune`, which also says what is returned.
    """
    settings = settings or AdapterTraining()
    device = head.mean.device
    labels = check_features(features, labels, len(head.assignment)).to(device)
    features = features.to(device).float()
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        head.adapter = Adapter(
            features.mean(0),
            features.std(0, unbiased=False),
            head.selection.cpu(),
            hidden=settings.hidden if settings.kind == "mlp" else 0,
        ).to(device)
    head.relu = settings.relu
    groups = [{"params": list(head.adapter.parameters()), "lr": settings.lr}]
    # Whole batches are taken by their indices: one by one, samples would take longer than steps.
    members = BatchSampler(RandomSampler(range(len(labels))), settings.batch_size, drop_last=False)
    first = ranks.is_first()
    with ranks.alone():
        history = train(
            Training("adapter", AdapterObjective(head, settings), groups, settings),
            DataLoader(TensorDataset(features, labels), batch_size=None, sampler=members),
            val_loader=None if validation is None else [validation],
            log=log if first else None,
            progress=progress and first,
        )
    head.adapter.describe(features)
    ranks.share(head)
    return history
