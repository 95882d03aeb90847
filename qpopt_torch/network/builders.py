"""Building a model from a name, and loading weights into it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from qpopt import InvalidFile
from qpopt_torch.errors import UNREADABLE, ModelError

NESTED = ("state_dict", "model", "model_state_dict")


def build(name: str, n_classes: int) -> nn.Module:
    """Build a model with random weights.

    Parameters
    ----------
    name
        `torchvision:resnet50`, `timm:convnext_tiny`, or `package.module:function`, a function
        that returns the model and may take `num_classes`.
    n_classes
        The number of classes.

    Raises
    ------
    ModelError
        If there is no such model, or its package is not installed or broken.
    """
    source, separator, what = name.partition(":")
    if not (source and separator and what):
        raise ModelError(
            f"The model {name!r} must be given as torchvision:name, timm:name or "
            "package.module:function."
        )
    place = {"torchvision": "torchvision.models"}.get(source, source)
    try:
        module = import_module(place)
    except ImportError as error:
        hint = f" Install it: pip install {source}." if source in ("torchvision", "timm") else ""
        raise ModelError(f"Cannot import {place}: {error}.{hint}") from error
    except Exception as error:  # a package may fail in its own way, with whatever error
        hint = ""
        if source in ("torchvision", "timm"):
            hint = " The torchvision installed may not belong to this version of torch."
        raise ModelError(
            f"{place} is installed but cannot be imported: {type(error).__name__}: {error}.{hint}"
        ) from error
    if source == "timm":
        if not module.is_model(what):
            raise ModelError(f"timm has no model {what!r}.")
        return _module(name, module.create_model(what, num_classes=n_classes))
    function = getattr(module, what, None)
    if not callable(function):
        raise ModelError(f"{place} has no function {what!r}.")
    keywords: dict[str, Any] = {}
    if source == "torchvision" or "num_classes" in inspect.signature(function).parameters:
        keywords["num_classes"] = n_classes
    return _module(name, function(**keywords))


def load_weights(model: nn.Module, path: Path) -> None:
    """Load a .safetensors file or a checkpoint of torch.save into a model.

    Raises
    ------
    InvalidFile
        If the file cannot be read or holds no weights.
    ModelError
        If the weights do not fit; it says which.
    """
    try:
        if path.suffix == ".safetensors":
            state: Any = safetensors.torch.load(path.read_bytes())
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except (*UNREADABLE, SafetensorError) as error:
        raise InvalidFile(f"Cannot read weights from {path}: {error}.") from error
    for key in NESTED:
        if isinstance(state, Mapping) and isinstance(state.get(key), Mapping):
            state = state[key]
    if not isinstance(state, Mapping) or not all(isinstance(v, Tensor) for v in state.values()):
        raise InvalidFile(f"{path} holds no state dictionary of tensors.")
    state = {key.removeprefix("module."): value for key, value in state.items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()[1:4]]
        raise ModelError(
            f"The weights in {path} do not fit the model: {' '.join(lines)}"
        ) from error


def _module(name: str, model: Any) -> nn.Module:
    if not isinstance(model, nn.Module):
        raise ModelError(f"{name} gives {type(model).__name__}, not a torch.nn.Module.")
    return model
