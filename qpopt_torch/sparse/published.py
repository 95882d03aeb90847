"""load_published: models that the authors of the published method saved."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from qpopt import InvalidFile
from qpopt.io import AnyPath
from qpopt_torch.errors import UNREADABLE, ModelError, path_of, shown
from qpopt_torch.network.builders import load_state
from qpopt_torch.network.geometry import Changes, apply_changes
from qpopt_torch.network.head import Head
from qpopt_torch.network.layout import Layout
from qpopt_torch.network.observation import unwrap
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.consistency import check_network, check_selection
from qpopt_torch.sparse.sparse_head import SparseHead

SELECTION, MEAN, STD = "linear.selection", "linear.mean", "linear.std"
WEIGHT, BIAS = "linear.layer.weight", "linear.layer.bias"

STRIDED = ("layer3.0", "layer4.0")
"""The blocks in which a stride of 2 becomes 1 where strides are reduced."""
REDUCED = {"qpm": True, "chiqpm": True}
RECTIFIED = {"qpm": False, "chiqpm": True}
"""What the files of each kind of model do not say of themselves."""

Choice = bool | Literal["auto"]


def load_published(
    path: AnyPath, model: nn.Module, strides: Choice = "auto", relu: Choice = "auto"
) -> SparseClassifier:
    """Read a QPM or CHiQPM model that its authors' code saved.

    Parameters
    ----------
    path
        A state dictionary, named like ``qpm_50_5_FinetunedModel.pth``.
    model
        A freshly built ResNet of torchvision of the same depth; its weights do not matter. It is
        copied, and its head is replaced.
    strides
        Whether the strides of the last two stages are 1, so that 224 × 224 pixels give 28 × 28
        positions. No file says so; "auto" goes by its name.
    relu
        Whether features below their mean count as 0; "auto" goes by the name, too.

    Returns
    -------
    SparseClassifier
        Ready to use, in evaluation mode. Nothing is known of the solution that it was made from.

    Raises
    ------
    InvalidFile
        If the file cannot be read or is no such model.
    ModelError
        If it does not fit the model, or its name does not tell what was left to "auto".

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> class Small(nn.Module):  # in place of torchvision.models.resnet50()
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer4 = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU())
    ...         self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(6, 4)
    ...     def forward(self, x):
    ...         return self.fc(self.avgpool(self.layer4(x)).flatten(1))
    >>> saved = {key: v for key, v in Small().state_dict().items() if not key.startswith("fc.")}
    >>> saved |= {
    ...     "linear.selection": torch.tensor([0, 2, 5]),
    ...     "linear.mean": torch.zeros(3),
    ...     "linear.std": torch.ones(3),
    ...     "linear.layer.weight": torch.tensor([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]]),
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qpm_3_2_FinetunedModel.pth"
    ...     torch.save(saved, path)
    ...     model = qpopt_torch.load_published(path, Small(), strides=False)
    >>> model.class_features(0)
    (0, 2)
    """
    place = path_of(path)
    state = _read(place)
    reduced, rectified = (
        _chosen(label, value, place, known)
        for label, value, known in (("strides", strides, REDUCED), ("relu", relu, RECTIFIED))
    )
    core: Any = deepcopy(unwrap(model))
    if not isinstance(getattr(core, "fc", None), nn.Linear):
        raise ModelError(
            f"The model ({type(core).__name__}) must be a ResNet of torchvision, with a head 'fc'."
        )
    n_classes, n_features = len(state[WEIGHT]), core.fc.in_features
    core.fc = nn.Linear(n_features, n_classes)
    network = {key: value for key, value in state.items() if not key.startswith("linear.")}
    own = {f"fc.{key}": value for key, value in core.fc.state_dict().items()}
    load_state(core, network | own, f"in {place}")
    if reduced:
        apply_changes(core, _unstrided(core))
    head = Head("fc", n_features, n_classes, "layer4", Layout("first"))
    order = torch.argsort(state[SELECTION])
    selection, mean, std = (state[key][order] for key in (SELECTION, MEAN, STD))
    found = {
        "selection": selection,
        "assignment": state[WEIGHT][:, order],
        "mean": mean,
        "std": std,
    }
    try:
        check_selection(found, head, len(selection))
        check_network(core, head)
    except ModelError as error:
        raise InvalidFile(f"{place} holds no model that can be used: {error}") from error
    values = (np.asarray(value) for value in found.values())
    return SparseClassifier(core, head, SparseHead(*values, relu=rectified)).eval()


def _read(path: Path) -> Mapping[str, Tensor]:
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except UNREADABLE as error:
        raise InvalidFile(f"Cannot read {path}: {error}.") from error
    needed = (SELECTION, MEAN, STD, WEIGHT)
    whole = isinstance(state, Mapping) and all(isinstance(v, Tensor) for v in state.values())
    missing = [key for key in needed if not whole or key not in state]
    if missing:
        raise InvalidFile(f"{path} is no saved QPM model: {missing[0]} is missing.")
    if BIAS in state:
        raise InvalidFile(
            f"{path} holds weights with a bias, as SLDD and Q-SENN have them; only QPM and CHiQPM "
            "models can be read."
        )
    sizes = {key: tuple(state[key].shape) for key in needed}
    n_select = sizes[SELECTION][0] if len(sizes[SELECTION]) == 1 else -1
    fits = sizes[MEAN] == sizes[STD] == (n_select,) and sizes[WEIGHT][1:] == (n_select,)
    if not fits:
        raise InvalidFile(f"{path} is damaged: the shapes {sizes} do not fit together.")
    found: Mapping[str, Tensor] = state
    return found


def _chosen(label: str, value: Choice, path: Path, known: Mapping[str, bool]) -> bool:
    """Return what is asked for, or what goes with the kind of model that the name says."""
    if isinstance(value, bool):
        return value
    if value != "auto":
        raise ModelError(f"{label} must be True, False or auto, not {shown(value)}.")
    kind = path.name.partition("_")[0].lower()
    if kind not in known:
        raise ModelError(
            f"The name {path.name} does not begin with {' or '.join(known)}, so pass {label}=True "
            "or False: the file itself does not say."
        )
    return known[kind]


def _unstrided(core: nn.Module) -> Changes:
    """Return the changes that make the strides of the last two stages 1."""
    strided = {
        name: module
        for name, module in core.named_modules()
        if isinstance(module, nn.Conv2d) and name.startswith(tuple(f"{b}." for b in STRIDED))
    }
    return {name: {"stride": [1, 1]} for name, m in strided.items() if max(m.stride) > 1}
