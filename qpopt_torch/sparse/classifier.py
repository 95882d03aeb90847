"""SparseClassifier: a network whose every class is a sum of a few named features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from qpopt import Solution
from qpopt_torch.errors import ModelError
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import hooked, logits_of, on_last_call, unwrap
from qpopt_torch.sparse.adapter import Adapter
from qpopt_torch.statistics.statistics import Statistics

DROPOUT = 0.1


class Features(NamedTuple):
    """What a sparse classifier sees in a batch.

    Parameters
    ----------
    logits
        N × classes.
    features
        Selected features before dropout and normalisation, N × n_select.
    maps
        Their feature maps, N × n_select × positions; None where there are none.
    """

    logits: Tensor
    features: Tensor
    maps: Tensor | None


class SparseHead(nn.Module):
    """Selected features → dropout → fixed normalisation → fixed 0/1 assignment, without bias.

    Parameters
    ----------
    selection
        Indices of the selected features.
    assignment
        0/1, classes × selected features.
    mean, std
        Mean and standard deviation of the selected features; a deviation of 0 counts as 1.
    dropout
        Chance that a feature is left out while training.
    adapter
        Gives the features in place of the plain selection.
    spatial
        Axes of size 1 behind the channels, as a convolution in place of the head would have.
    """

    selection: Tensor
    assignment: Tensor
    mean: Tensor
    std: Tensor

    def __init__(
        self,
        selection: ArrayLike,
        assignment: ArrayLike,
        mean: ArrayLike,
        std: ArrayLike,
        *,
        dropout: float = DROPOUT,
        adapter: Adapter | None = None,
        spatial: int = 0,
    ) -> None:
        super().__init__()
        deviation = np.array(std, dtype=np.float32)
        deviation[deviation == 0] = 1.0
        self.register_buffer("selection", torch.tensor(np.array(selection), dtype=torch.int64))
        self.register_buffer("assignment", torch.tensor(np.array(assignment, dtype=np.float32)))
        self.register_buffer("mean", torch.tensor(np.array(mean, dtype=np.float32)))
        self.register_buffer("std", torch.tensor(deviation))
        self.dropout = nn.Dropout(dropout)
        self.adapter = adapter
        self.spatial = spatial

    @classmethod
    def from_solution(
        cls, solution: Solution, mean: ArrayLike, std: ArrayLike, **options: Any
    ) -> SparseHead:
        """Make the head of a solution, given mean and deviation of *all* features."""
        if solution.selection is None or solution.assignment is None:
            raise ModelError(
                f"There is no selection to build a head from: the solve ended {solution.status}."
            )
        kept = [np.asarray(values)[solution.selection] for values in (mean, std)]
        return cls(solution.selection, solution.assignment, *kept, **options)

    def select(self, received: Tensor) -> Tensor:
        """Return the features, …  × n_select, of what the backbone gives, … × all features."""
        if self.adapter is not None:
            features: Tensor = self.adapter(received)
            return features
        return received.index_select(-1, self.selection)

    def classify(self, features: Tensor) -> Tensor:
        """Return the logits of selected features."""
        normalised = (self.dropout(features) - self.mean) / self.std
        return F.linear(normalised, self.assignment)

    def forward(self, received: Tensor) -> Tensor:
        """Return the logits of what the backbone gives."""
        flat = received.flatten(1) if self.spatial else received
        logits = self.classify(self.select(flat))
        return logits.reshape(*logits.shape, *[1] * self.spatial)


class SparseClassifier(nn.Module):
    """A copy of a model in which the head is replaced by a `SparseHead`.

    Everything before the head stays as it is, so the model works for every architecture, and
    because pooling treats each channel by itself, selecting after it is the same as selecting the
    maps before it. Nothing is observed or stored during `forward`, which therefore exports and
    compiles like that of any module; only `features` looks inside, through hooks that live for
    the one call.

    Parameters
    ----------
    model
        The trained classifier; it is copied, not changed.
    head
        Its head.
    sparse_head
        What takes the place of the head.
    solution
        The solution that `sparse_head` was made from, kept for saving and explaining.
    class_names
        Names of the classes.
    """

    def __init__(
        self,
        model: nn.Module,
        head: Head,
        sparse_head: SparseHead,
        *,
        solution: Solution | None = None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.head = head
        self.solution = solution
        self.class_names = None if class_names is None else tuple(map(str, class_names))
        self.feature_names: dict[int, str] = {}
        core = unwrap(model)
        old, _ = head.modules(core)
        sparse_head.spatial = sum(isinstance(old, kind) * axes for kind, axes in _CONVOLUTIONS)
        sparse_head.to(next(core.parameters(), torch.empty(0)).device)
        memo: dict[int, Any] = {id(old): sparse_head}
        for name in head.dropouts:
            dropout = core.get_submodule(name)
            memo[id(dropout)] = nn.Identity()
        # The memo makes the copy use the new modules wherever the old ones stand.
        self.backbone = deepcopy(core, memo)
        for parameter in self.backbone.parameters():
            parameter.grad = None

    @classmethod
    def from_solution(
        cls,
        model: nn.Module,
        solution: Solution,
        statistics: Statistics,
        *,
        dropout: float = DROPOUT,
    ) -> SparseClassifier:
        """Build the sparse classifier of a solution.

        Parameters
        ----------
        model
            The model that the statistics were collected from.
        solution
            Selection and assignment.
        statistics
            Give the fixed normalisation, the head and the class names.
        dropout
            Chance that a feature is left out while training.
        """
        if statistics.head is None:
            raise ModelError(
                "These statistics were not collected from a model, so they name no head; use "
                "collect(model, loader)."
            )
        sparse_head = SparseHead.from_solution(
            solution, statistics.mean, statistics.std, dropout=dropout
        )
        return cls(
            model,
            statistics.head,
            sparse_head,
            solution=solution,
            class_names=statistics.class_names,
        )

    @property
    def sparse_head(self) -> SparseHead:
        """The module that took the place of the head."""
        module = self.backbone.get_submodule(self.head.name)
        assert isinstance(module, SparseHead)
        return module

    @property
    def selection(self) -> NDArray[np.int64]:
        """Indices of the selected features in the dense model."""
        return self.sparse_head.selection.cpu().numpy()

    @property
    def assignment(self) -> NDArray[np.bool_]:
        """Boolean, classes × selected features."""
        return self.sparse_head.assignment.cpu().float().numpy() > 0.5

    def class_features(self, c: int | str) -> tuple[int, ...]:
        """Return the features, by their indices in the dense model, that make up a class.

        Parameters
        ----------
        c
            The number or the name of the class.
        """
        if isinstance(c, str):
            if self.class_names is None or c not in self.class_names:
                raise ModelError(f"There is no class named {c!r}.")
            c = self.class_names.index(c)
        if not 0 <= c < self.head.n_classes:
            raise ModelError(
                f"There is no class {c}; the classes are 0 to {self.head.n_classes - 1}."
            )
        return tuple(self.selection[self.assignment[c]].tolist())

    def feature_name(self, d: int) -> str:
        """Return what a feature, by its index in the dense model, is called."""
        return self.feature_names.get(int(d), f"Feature {d}")

    def rename_features(self, names: Mapping[int, str]) -> None:
        """Give features names, which explanations show and `save` keeps.

        Parameters
        ----------
        names
            Names by the indices of the features in the dense model; an empty one takes the name
            away.
        """
        selected = set(self.selection.tolist())
        for d, name in names.items():
            if d not in selected:
                raise ModelError(f"Feature {d!r} is not selected, so it cannot be named {name!r}.")
        changed = self.feature_names | {int(d): str(name) for d, name in names.items()}
        kept = {d: name for d, name in changed.items() if name}
        if len(set(kept.values())) < len(kept):
            raise ModelError("Two features would have the same name; give each its own.")
        self.feature_names = kept

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, N × classes."""
        return logits_of(self.backbone(x))

    def features(self, x: Tensor) -> Features:
        """Return logits, selected features and their maps.

        With an adapter, the maps are the adapter applied to every position; for a linear one and
        average pooling, they pool to the features exactly.
        """
        sparse_head = self.sparse_head
        _, layer = self.head.modules(self.backbone)
        received: list[Tensor] = []
        maps: list[Tensor] = []

        def keep_received(module: nn.Module, args: tuple[Any, ...]) -> None:
            received.append(args[0].flatten(1))

        def keep_maps(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
            maps.append(self._selected_maps(output, x))

        hooks = {} if layer is None else {layer: on_last_call(keep_maps, self.head.calls)}
        with hooked(hooks, {sparse_head: keep_received}):
            logits = self(x)
        return Features(logits, sparse_head.select(received[0]), maps[0] if maps else None)

    def _selected_maps(self, output: Tensor, x: Tensor) -> Tensor:
        layout, sparse_head = self.head.layout, self.sparse_head
        assert layout is not None
        if sparse_head.adapter is None:
            return layout.maps(output, like=x, selection=sparse_head.selection)
        everything = layout.maps(output, like=x)
        return sparse_head.select(everything.movedim(1, -1)).movedim(-1, 1)

    def save(self, directory: str | PathLike[str]) -> None:
        """Write weights, config.json and, if known, the solution; see `qpopt_torch.load`."""
        from qpopt_torch.sparse.storage import save

        save(self, directory)

    def report(
        self,
        path: str | PathLike[str],
        loader: Iterable[Any],
        *,
        class_names: Sequence[str] | None = None,
        **options: Any,
    ) -> Path:
        """Write one HTML file in which a person can read the whole model.

        Parameters
        ----------
        path
            The file to write.
        loader
            Batches of inputs and labels: their decisions are shown and measured.
        class_names
            Names of the classes, in place of those of the model or the data set.
        options
            Further arguments of `qpopt_torch.report.write_report`, above all `train_loader` and
            `to_image`.
        """
        from qpopt_torch.report import write_report

        return write_report(self, path, loader, class_names=class_names, **options)


_CONVOLUTIONS = ((nn.Conv1d, 1), (nn.Conv2d, 2), (nn.Conv3d, 3))
