"""SparseClassifier: a network whose every class is a sum of a few named features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from qpopt import Solution
from qpopt.io import AnyPath
from qpopt_torch.data.class_names import checked_class_names, class_number
from qpopt_torch.data.unpacking import Unpack
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import Features, observe, unwrap
from qpopt_torch.network.reading.outputs import logits_of
from qpopt_torch.sparse.card import write_card
from qpopt_torch.sparse.consistency import check_selection
from qpopt_torch.sparse.record import Record
from qpopt_torch.sparse.sets.calibrated import Calibrated
from qpopt_torch.sparse.sparse_head import DROPOUT, SparseHead, average_value, fewer_features
from qpopt_torch.sparse.storage import SOLUTION, config_of, made_folder, save_model
from qpopt_torch.statistics.statistics import Statistics

if TYPE_CHECKING:
    from PIL.Image import Image

    from qpopt_torch.metrics.summary import Metrics
    from qpopt_torch.training.loop import History

MIXED = 0.8
"""Correlation with the feature it started from below which a mixture has a name of its own."""


class SparseClassifier(Calibrated, nn.Module):
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

    Attributes
    ----------
    unpack
        A function of a batch that returns inputs and labels, for loaders of another form; it is
        not saved.
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
        self.class_names = checked_class_names(class_names, head.n_classes)
        self.feature_names: dict[int, str] = {}
        self.record = Record()
        self.unpack: Unpack | None = None
        core = unwrap(model)
        old, _ = head.modules(core)
        if not isinstance(weight := getattr(old, "weight", None), Tensor):
            raise ModelError(
                f"The head {head.name!r} is a {type(old).__name__}, which is not linear."
            )
        sparse_head.spatial = weight.ndim - 2
        # Double precision stays; a lower one would round means and deviations.
        double = weight.dtype == torch.float64
        sparse_head.to(weight.device, torch.float64 if double else None)
        # The memo makes the copy use the new modules wherever the old ones stand.
        memo: dict[int, Any] = {id(old): sparse_head}
        known = dict(core.named_modules())
        memo |= {id(known[name]): nn.Identity() for name in head.dropouts if name in known}
        self.network = deepcopy(core, memo)
        self.network.zero_grad()

    @classmethod
    def from_solution(
        cls,
        model: nn.Module,
        solution: Solution,
        statistics: Statistics,
        *,
        dropout: float = DROPOUT,
        relu: bool = False,
        class_bias: float | None = None,
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
        dropout, relu
            As in `SparseHead`.
        class_bias
            Where classes have different numbers of features, what is added to the logit of a class
            for each that it has fewer than the average; without it, what a feature adds on average
            to the logit of a class on its own samples; with `relu` it has to be given. 0 adds
            nothing.
        """
        if statistics.head is None:
            raise ModelError(
                "These statistics were not collected from a model, so they name no head; use "
                "collect(model, loader)."
            )
        mean, std, names = statistics.mean, statistics.std, statistics.class_names
        if class_bias is None:
            class_bias = average_value(solution, statistics, relu)
        kind: dict[str, Any] = {"dropout": dropout, "relu": relu, "class_bias": class_bias}
        sparse_head = SparseHead.from_solution(solution, mean, std, **kind)
        return cls(model, statistics.head, sparse_head, solution=solution, class_names=names)

    @property
    def sparse_head(self) -> SparseHead:
        """The module that took the place of the head."""
        module = self.network.get_submodule(self.head.name)
        assert isinstance(module, SparseHead)
        return module

    @property
    def selection(self) -> NDArray[np.int64]:
        """Indices of the selected features in the dense model."""
        return self.sparse_head.selection.cpu().numpy()

    @property
    def assignment(self) -> NDArray[Any]:
        """Classes × selected features: boolean, or int8 with −1 where a feature must be absent."""
        signs = self.sparse_head.assignment.cpu().float().numpy()
        return signs.astype(np.int8) if (signs < 0).any() else signs > 0.5

    def class_features(self, c: int | str) -> tuple[int, ...]:
        """Return the features, by their indices in the dense model, that make up a class.

        Parameters
        ----------
        c
            The number or the name of the class.
        """
        number = class_number(c, self.head.n_classes, self.class_names or ())
        return tuple(self.selection[self.assignment[number] > 0].tolist())

    def absent_features(self, c: int | str) -> tuple[int, ...]:
        """Return the features that speak for a class by their absence; mostly there are none."""
        number = class_number(c, self.head.n_classes, self.class_names or ())
        return tuple(self.selection[self.assignment.astype(np.int8)[number] < 0].tolist())

    @property
    def metrics(self) -> dict[str, Metrics]:
        """What was measured on validation samples, under `dense` and `sparse`."""
        return self.record.metrics

    @property
    def history(self) -> History | None:
        """What the training did; None if there was none."""
        return self.record.history

    def preprocess(self, image: Image) -> Tensor:
        """Return the input that an image makes, without the batch axis.

        Raises
        ------
        ModelError
            If it is not known how; `record.preprocessing` may be set.
        """
        if self.record.preprocessing is None:
            raise ModelError(
                "It is not known how an image becomes an input of this model; set "
                "sparse.record.preprocessing = Preprocessing(size=…, mean=…, std=…)."
            )
        return self.record.preprocessing(image)

    def feature_name(self, d: int) -> str:
        """Return what a feature, by its index in the dense model, is called.

        A mixture that has little to do with the feature it started from is not called after it.
        """
        plain, adapter = f"Feature {d}", self.sparse_head.adapter
        column = np.flatnonzero(self.selection == int(d))
        if adapter is not None and len(column) and adapter.correlation[column[0]] < MIXED:
            plain = f"Mixture {column[0] + 1}"
        return self.feature_names.get(int(d), plain)

    def rename_features(self, names: Mapping[int, str]) -> None:
        """Give features names, which explanations show and `save` keeps.

        Parameters
        ----------
        names
            Names by the indices of the features in the dense model; an empty one takes the name
            away.
        """
        if not isinstance(names, Mapping):
            raise ModelError(f"Names must be a mapping of features to names, not {shown(names)}.")
        selected = set(self.selection.tolist())
        for d, name in names.items():
            if d not in selected:
                raise ModelError(f"Feature {d!r} is not selected, so it cannot be named {name!r}.")
        changed = self.feature_names | {int(d): str(name) for d, name in names.items()}
        kept = {d: name for d, name in changed.items() if name}
        if len(set(kept.values())) < len(kept):
            raise ModelError("Two features would have the same name; give each its own.")
        self.feature_names = kept

    def forward(self, x: Any = None, /, *more: Any, **named: Any) -> Tensor:
        """Return the logits, N × classes, of inputs as the network takes them."""
        # The first has a place of its own, for exporters look at it by its name.
        inputs = (x, *more) if x is not None or more else ()
        return logits_of(self.network(*inputs, **named), self.head.output)

    def features(self, *inputs: Any, **named: Any) -> Features:
        """Return logits, selected features and their maps, of inputs as the network takes them.

        With an adapter, the maps are the adapter applied to every position; for a linear one and
        average pooling, they pool to the features exactly.
        """
        with self.observe(evaluate=False) as seen:
            self.network(*inputs, **named)
        return seen

    def observe(self, *, evaluate: bool = True) -> AbstractContextManager[Features]:
        """Look inside as `qpopt_torch.network.observation.observe` does; call `network`."""
        return observe(self.network, self.head, evaluate=evaluate)

    def save(self, directory: AnyPath) -> None:
        """Write weights, config.json, README.md and, if known, the solution.

        `qpopt_torch.load` reads them.
        """
        head = self.sparse_head
        uneven = bool(fewer_features(head.assignment).any())
        check_selection(head.state_dict(), self.head, len(head.selection), uneven=uneven)
        folder = made_folder(directory)
        if self.solution is not None:
            self.solution.save(folder / SOLUTION)
        save_model(folder, config_of(self, uneven=uneven), self.state_dict())
        write_card(folder, self)

    def report(
        self, path: AnyPath, loader: Iterable[Any], *, layout: str = "file", **options: Any
    ) -> Path:
        """Write a page in which a person can read the whole model, and return the file to open.

        Arguments are those of `qpopt_torch.report.write_report`; `options` may hold, above all,
        `train_loader`, `class_names`, and `show`, which says how samples are shown, as in `gather`.
        With `layout="file"` the page needs nothing else; with `"folder"`, for many classes, `path`
        is a folder, and the page loads pictures when it shows them.
        """
        from qpopt_torch.report import in_layout, write_report

        options["params"] = in_layout(options.get("params"), layout)
        if (show := options.pop("show", None)) is not None:
            if options.get("to_image") is not None:
                raise ModelError("to_image and show say the same; pass one of them.")
            options["to_image"] = show

        return write_report(self, path, loader, **options)

    def studio(self, loader: Iterable[Any], **options: Any) -> Any:
        """Open the model on a local page where it can be steered, and solved again in a second.

        `loader` gives validation batches. `options` are further arguments of
        `qpopt_torch.studio.launch.open_studio`: `train_loader`, on which adapters are trained, and
        `instance`, the folder that `sparsify` filled, spare a pass over the data.
        """
        from qpopt_torch.studio.launch import open_studio

        return open_studio(self, loader, **options)
