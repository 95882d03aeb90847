"""The controls: models that are made as ours are, but for what chance decides in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from qpopt import Instance, Solution
from qpopt_torch.baselines.chance import chance_assignment, chance_selection
from qpopt_torch.baselines.training import trained
from qpopt_torch.network.head_finder import HeadLike
from qpopt_torch.network.observation import unwrap
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.statistics.collect import collect
from qpopt_torch.training.settings import AdapterTraining, TrainingLike, training_settings


def random_assignment(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_select: int,
    n_per_class: int,
    val_loader: Iterable[Any] | None = None,
    statistics_loader: Iterable[Any] | None = None,
    training: TrainingLike = "full",
    head: HeadLike = None,
    relu: bool = False,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SparseClassifier:
    """Make a sparse classifier of random features and a random assignment of them.

    It shows what training alone does: whatever is said of the choice of features and of their
    assignment has to be better than this.

    Parameters
    ----------
    model, loader, n_select, n_per_class, val_loader, statistics_loader, training, head, \
class_names, progress
        As in `sparsify`.
    relu
        Whether features below their mean count as 0, as in `SparseHead`.
    seed
        Decides the choice.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from qpopt_torch.baselines.controls import random_assignment
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> control = random_assignment(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> [len(control.class_features(c)) for c in range(4)]
    [2, 2, 2, 2]
    """
    return _made(chance_assignment, **locals())  # what was given, by its names


def random_selection(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    n_select: int,
    n_per_class: int,
    val_loader: Iterable[Any] | None = None,
    statistics_loader: Iterable[Any] | None = None,
    training: TrainingLike = "full",
    head: HeadLike = None,
    relu: bool = False,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SparseClassifier:
    """Make a sparse classifier of random features, the best of them for every class.

    It shows what the choice of features adds. Arguments as in `random_assignment`; the same seed
    gives the same features.
    """
    return _made(chance_selection, **locals())  # what was given, by its names


def _made(
    chosen: Callable[[Instance, int], Solution],
    *,
    model: nn.Module,
    loader: Iterable[Any],
    n_select: int,
    n_per_class: int,
    val_loader: Iterable[Any] | None,
    statistics_loader: Iterable[Any] | None,
    training: TrainingLike,
    head: HeadLike,
    relu: bool,
    class_names: Sequence[str] | None,
    seed: int,
    progress: bool,
) -> SparseClassifier:
    """Return the trained model of what is chosen for the instance of a network."""
    settings, core = training_settings(training), unwrap(model)
    received: list[tuple[Tensor, Tensor]] | None = (
        [] if isinstance(settings, AdapterTraining) else None
    )
    known: dict[str, Any] = {"head": head, "class_names": class_names, "progress": progress}
    plain = loader if statistics_loader is None else statistics_loader
    statistics = collect(core, plain, received=received, **known)
    solution = chosen(statistics.instance(n_select, n_per_class, bias="none"), seed)
    # An adapter has a ReLU of its own.
    relu = relu and received is None
    sparse = SparseClassifier.from_solution(core, solution, statistics, relu=relu)
    every = [torch.cat(part) for part in zip(*received or [], strict=True)]
    features, labels = every or (torch.empty(0), torch.empty(0))
    following: dict[str, Any] = {"val_loader": val_loader, "progress": progress}
    return trained(sparse, core, loader, settings, (features, labels), **following)
