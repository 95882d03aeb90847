"""steer: another selection for a saved model, from its own weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from qpopt import Instance
from qpopt.io import AnyPath
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.metrics.evaluate import evaluate
from qpopt_torch.pipeline.arguments import checked_options, checked_wishes
from qpopt_torch.pipeline.sparsify import sparsify
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.statistics.collect import collect
from qpopt_torch.training.settings import AdapterTraining, TrainingLike, training_settings


def steer(
    model: SparseClassifier,
    loader: Iterable[Any],
    *,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    n_select: int | None = None,
    n_per_class: int | None = None,
    val_loader: Iterable[Any] | None = None,
    statistics_loader: Iterable[Any] | None = None,
    training: TrainingLike = "full",
    prepare: Mapping[str, Any] | None = None,
    solve: Mapping[str, Any] | None = None,
    out: AnyPath | None = None,
    progress: bool = True,
) -> SparseClassifier:
    """Choose features anew under other wishes, and train on from the weights that a model has.

    The statistics are those of its network as it is now. The search starts from its selection as
    far as that is still allowed, and names of features stay with them.

    Parameters
    ----------
    model
        The sparse classifier; it is not changed.
    include, exclude, val_loader, statistics_loader, training, prepare, solve, out, progress
        As in `sparsify`.
    loader
        Training batches.
    n_select, n_per_class
        The counts, if they are to be others than those of the model.

    Returns
    -------
    SparseClassifier
        A new model.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> quick = {"n_select": 4, "n_per_class": 2, "training": None, "progress": False}
    >>> sparse = qpopt_torch.sparsify(model, loader, **quick)
    >>> unwanted = int(sparse.selection[0])
    >>> steered = qpopt_torch.steer(sparse, loader, exclude=[unwanted], **quick)
    >>> unwanted in steered.selection
    False
    """
    if not isinstance(model, SparseClassifier):
        raise ModelError(f"steer takes a SparseClassifier, not {shown(model)}.")
    k = len(model.selection) if n_select is None else n_select
    per_class = _size(model) if n_per_class is None else n_per_class
    wanted = checked_wishes(k, per_class, include, exclude)
    dense = as_dense(model)
    checked_options(dense, prepare, solve, model.head)
    kept = [d for d in model.selection.tolist() if d not in wanted["exclude"]]
    settings = training_settings(training)
    sparse = sparsify(
        dense,
        loader,
        n_select=k,
        n_per_class=per_class,
        statistics_loader=statistics_loader,
        training=settings,
        **wanted,
        prepare={"hint": tuple(kept), **(prepare or {})},
        solve=solve,
        head=model.head,
        class_names=model.class_names,
        progress=progress,
    )
    chosen = set(sparse.selection.tolist())
    adapted = isinstance(settings, AdapterTraining) or model.sparse_head.adapter is not None
    named = {} if adapted else model.feature_names
    sparse.rename_features({d: name for d, name in named.items() if d in chosen})
    sparse.record.preprocessing = sparse.record.preprocessing or model.record.preprocessing
    if val_loader is not None:
        sparse.metrics["sparse"] = evaluate(sparse, val_loader, progress=progress)
        if "dense" in model.metrics:
            sparse.metrics["dense"] = model.metrics["dense"]
    if out is not None:
        sparse.save(out)
    return sparse


def made_instance(
    model: SparseClassifier, loader: Iterable[Any], *, progress: bool = True
) -> Instance:
    """Return the instance of a sparse classifier: of its network as it is, with its counts."""
    statistics = collect(
        as_dense(model), loader, head=model.head, class_names=model.class_names, progress=progress
    )
    return statistics.instance(len(model.selection), _size(model))


def _size(model: SparseClassifier) -> int:
    """Return how many features a class has, on average where that differs."""
    return round(float((model.assignment != 0).sum(axis=1).mean()))


def as_dense(model: SparseClassifier) -> nn.Module:
    """Return the network of a sparse classifier with a linear head that does what its head does.

    An adapter is left out: the head then adds up the plain features.
    """
    head = model.sparse_head
    weight = torch.zeros(model.head.n_classes, model.head.n_features, dtype=head.std.dtype)
    scaled = (head.assignment / head.std).cpu()
    weight[:, head.selection.cpu()] = scaled
    bias = -(scaled * head.mean.cpu()).sum(1)
    if head.class_bias is not None:
        bias = bias + head.class_bias.cpu()
    kinds: dict[int, Any] = {0: nn.Linear, 1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
    size = () if not head.spatial else (1,)
    linear = kinds[head.spatial](model.head.n_features, model.head.n_classes, *size)
    _fill(linear, weight, bias)
    memo: dict[int, Any] = {id(head): linear.to(head.mean)}
    return deepcopy(model.network, memo)


@torch.no_grad()
def _fill(linear: nn.Module, weight: Tensor, bias: Tensor) -> None:
    module: Any = linear
    module.weight.copy_(weight.reshape(module.weight.shape))
    module.bias.copy_(bias)
