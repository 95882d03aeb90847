"""Whether the files of a sparse classifier are whole and belong together.

A file that was cut off is found when it is read. What is checked here is everything else that an
edit, a mixture of two folders or an interrupted save can have left: each error is InvalidFile.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from qpopt import InvalidFile, Solution
from qpopt_torch.data.class_names import checked_class_names
from qpopt_torch.errors import ModelError
from qpopt_torch.network.head import LARGEST, Head
from qpopt_torch.sparse.record import Record, check_told

SEALED = (
    *("architecture", "head", "n_select", "hidden", "finer_maps", "relu", "adapter_relu"),
    *("levels", "sets", "uneven"),
)
"""What a configuration says of the weights; names may be edited by hand."""


def seal(config: Mapping[str, Any], weights: bytes) -> str:
    """Return the SHA-256 of a file of weights and of what a configuration says of it."""
    said = json.dumps({key: config[key] for key in SEALED if key in config}, sort_keys=True)
    return hashlib.sha256(said.encode() + weights).hexdigest()


def check_config(config: Mapping[str, Any]) -> Head:
    """Return the head that a configuration names, if all of its values are possible.

    Raises
    ------
    ModelError, InvalidArgument
        Naming the first value that is not.
    """
    head = Head.from_dict(config["head"])
    _require(type(config["n_select"]) is int, "n_select", config["n_select"])
    _require(1 <= config["n_select"] <= head.n_features, "n_select", config["n_select"])
    hidden, dropout = config["hidden"], config["dropout"]
    fine = hidden is None or (type(hidden) is int and 0 <= hidden <= LARGEST)
    _require(fine, "hidden", hidden)
    _require(type(dropout) in (int, float) and 0 <= dropout <= 1, "dropout", dropout)
    _require(type(config["solution"]) is bool, "solution", config["solution"])
    for name in ("relu", "adapter_relu", "uneven"):
        _require(type(config.get(name, False)) is bool, name, config.get(name))
    for name in ("architecture", "seal"):
        _require(isinstance(config[name], str), name, config[name])
    finer = config.get("finer_maps", [])
    _require(isinstance(finer, list) and all(map(_are_changes, finer)), "finer_maps", finer)
    Record.from_dict(config)
    check_told(config)
    names, features = config["class_names"], config["feature_names"]
    _require(names is None or _are_texts(names), "class_names", names)
    checked_class_names(names, head.n_classes)
    fine = isinstance(features, dict) and _are_texts(features.values())
    _require(fine and all(d.isdecimal() for d in features), "feature_names", features)
    return head


def check_selection(
    values: Mapping[str, Tensor], head: Head, n_select: int, *, uneven: bool = False
) -> None:
    """Raise ModelError unless selection, assignment and scales of a sparse head are possible.

    Parameters
    ----------
    values
        Its tensors by name.
    head
        The head whose place it takes.
    n_select
        How many features it selects.
    uneven
        Whether classes have different numbers of features.
    """
    shapes = {
        "selection": (n_select,),
        "assignment": (head.n_classes, n_select),
        "mean": (n_select,),
        "std": (n_select,),
    }
    if "class_bias" in values:
        shapes["class_bias"] = (head.n_classes,)
    for name, shape in shapes.items():
        if name not in values or tuple(values[name].shape) != shape:
            raise ModelError(f"the {name} of the sparse head is missing or of another shape.")
        dtype = values[name].dtype
        if not (dtype == torch.int64 if name == "selection" else dtype.is_floating_point):
            raise ModelError(f"the {name} of the sparse head is {values[name].dtype}.")
    selection, assignment = values["selection"].cpu(), values["assignment"].cpu()
    if (selection < 0).any() or (selection >= head.n_features).any():
        raise ModelError(f"the selection names features beyond the {head.n_features} there are.")
    if (selection.diff() <= 0).any():
        raise ModelError("the selection does not rise.")
    if not ((assignment == 0) | (assignment.abs() == 1)).all():
        raise ModelError("the assignment holds values other than 0, 1 and −1.")
    sizes = assignment.abs().sum(1)
    if not len(sizes) or sizes.min() < 1:
        raise ModelError("a class has no feature.")
    if bool((sizes != sizes[0]).any()) != uneven:
        raise ModelError("the classes do not have the same number of features.")
    for name, value in values.items():
        if value.is_complex() or not torch.isfinite(value).all():
            raise ModelError(f"the values {name} of the sparse head are not finite.")
        if name.split(".")[-1] == "std" and not (value > 0).all():
            raise ModelError("the deviations of the features are not above 0.")
    adapted = values.get("adapter.selection")
    if adapted is not None and not torch.equal(adapted.cpu(), selection):
        raise ModelError("the adapter is of another selection.")


def check_adapter(values: Mapping[str, Tensor], head: Head, hidden: int | None) -> None:
    """Raise ModelError unless there is an adapter of these sizes, or none where there is none.

    Parameters
    ----------
    values, head
        As in `check_selection`.
    hidden
        The width of its hidden path, 0 without one; None where there is no adapter.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    if hidden is not None:
        shapes["adapter.mean"] = (head.n_features,)
    if hidden:
        shapes["adapter.mlp.0.weight"] = (hidden, head.n_features)
    for name in ("adapter.mean", "adapter.mlp.0.weight"):
        found = tuple(values[name].shape) if name in values else None
        if found != shapes.get(name):
            raise ModelError("the adapter is missing, of other sizes, or should not be there.")


def check_network(network: nn.Module, head: Head) -> None:
    """Raise ModelError if a weight is not finite, or the model has no such head."""
    for name, parameter in network.named_parameters():
        if not torch.isfinite(parameter).all():
            raise ModelError(f"the weights {name} are not finite.")
    for name, buffer in network.named_buffers():  # masks may be infinite
        if buffer.is_floating_point() and torch.isnan(buffer).any():
            raise ModelError(f"the values {name} are NaN.")
        if name.split(".")[-1] == "running_var" and (buffer < 0).any():
            raise ModelError(f"the variances {name} are below 0.")
    known = dict(network.named_modules())
    for named in (head.norm, *head.dropouts):
        if named is not None and named not in known:
            raise ModelError(f"the model has no module {named!r}.")


def checked_solution(
    path: Path, selection: NDArray[np.int64], assignment: NDArray[Any]
) -> Solution:
    """Read the solution that a classifier was made from.

    Raises
    ------
    InvalidFile
        If the file is missing or damaged, or its selection or assignment are others.
    """
    solution = Solution.load(path)
    if solution.selection is None or not (
        np.array_equal(solution.selection, selection)
        and np.array_equal(solution.assignment, assignment)  # type: ignore[arg-type]
    ):
        raise InvalidFile(
            f"{path} is not the solution of the weights beside it: its selection or assignment is "
            "another."
        )
    return solution


def _require(fine: bool, name: str, value: Any) -> None:
    if not fine:
        raise ModelError(f"{name} is {value!r}.")


def _are_changes(values: Any) -> bool:
    """Whether these can be changes of layers; see `qpopt_torch.network.geometry`."""
    kinds = {"stride", "dilation", "padding"}, {"every", "first"}
    return isinstance(values, dict) and all(
        isinstance(change, dict)
        and any(set(change) <= kind for kind in kinds)
        and all(
            isinstance(v, list) and all(type(n) is int and n >= 0 for n in v) and v
            for v in change.values()
        )
        for change in values.values()
    )


def _are_texts(values: Any) -> bool:
    listed = isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    return listed and all(isinstance(value, str) for value in values)
