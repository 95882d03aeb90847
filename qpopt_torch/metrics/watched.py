"""Watched: a model, dense or sparse, and what it sees in every batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from qpopt_torch.data.batches import batch_count, check_labels, nothing_in, split, to_model
from qpopt_torch.network.head import Head, find_head
from qpopt_torch.network.observation import evaluating, hooked, logits_of, on_last_call, unwrap
from qpopt_torch.sparse.classifier import Features, SparseClassifier


class Watched:
    """A model, dense or sparse, and what it sees in batches.

    Parameters
    ----------
    model
        A classifier.
    loader
        Its first batch shows where the head of a dense model is.
    """

    def __init__(self, model: nn.Module, loader: Iterable[Any]) -> None:
        self.model = unwrap(model)
        # An iterator gives its first batch only once, so what was taken is put back in front.
        self.loader: Iterable[Any] = loader
        self.head: Head
        if isinstance(self.model, SparseClassifier):
            self.head = self.model.head
            self.weights = self.model.sparse_head.assignment.detach().cpu()
        else:
            batches = iter(loader)
            first = next(batches, None)
            if first is None:
                raise nothing_in(loader)
            if batches is loader:
                self.loader = _Resumed(first, batches)
            self.head = find_head(self.model, to_model(split(first, 0)[0], self.model))
            module, _ = self.head.modules(self.model)
            weights: Any = module.weight
            self.weights = weights.detach().flatten(1).float().cpu()

    def batches(
        self, loader: Iterable[Any], title: str, *, progress: bool = True
    ) -> Iterator[tuple[Tensor, Tensor, Features]]:
        """Yield inputs, labels and what the model sees, for every batch."""
        bar = tqdm(
            loader, desc=title, total=batch_count(loader), disable=None if progress else True
        )
        empty = True
        for number, batch in enumerate(bar):
            x, y = split(batch, number)
            labels = check_labels(y, len(x), self.head.n_classes, number)
            with evaluating(self.model), torch.no_grad():
                seen = self.look(to_model(x, self.model))
            empty = False
            yield x, labels, seen
        if empty:
            raise nothing_in(loader)

    def look(self, x: Tensor) -> Features:
        """Return what the model sees in a batch."""
        if isinstance(self.model, SparseClassifier):
            return self.model.features(x)
        module, layer = self.head.modules(self.model)
        layout = self.head.layout
        features: list[Tensor] = []
        maps: list[Tensor] = []

        def keep_features(module: nn.Module, args: tuple[Any, ...]) -> None:
            features.append(args[0].flatten(1))

        def keep_maps(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
            assert layout is not None
            # A copy, because a ReLU in place would change what is kept here.
            maps.append(layout.maps(output.clone(), like=x))

        hooks = {} if layer is None else {layer: on_last_call(keep_maps, self.head.calls)}
        with hooked(hooks, {module: keep_features}):
            logits = logits_of(self.model(x))
        return Features(logits, features[0], maps[0] if maps else None)


class _Resumed:
    """An iterator whose first item was looked at already."""

    def __init__(self, first: Any, rest: Iterator[Any]) -> None:
        self.first, self.rest = first, rest

    def __iter__(self) -> Iterator[Any]:
        yield self.first
        yield from self.rest
