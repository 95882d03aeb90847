"""Building a model from a name, and loading weights into it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from qpopt import InvalidFile
from qpopt_torch.errors import UNREADABLE, ModelError, reason, shown
from qpopt_torch.network.specification import Specification

NESTED = ("state_dict", "model", "model_state_dict")
SHOWN = 5
PRETRAINED = {"timm": "timm", "torchvision": "torchvision.models"}
"""Collections whose models come with weights, and where their builders are."""


def build(name: str, n_classes: int, **arguments: Any) -> nn.Module:
    """Build a model with random weights; saved, it says how it was built.

    Parameters
    ----------
    name
        `torchvision:resnet50`, `timm:convnext_tiny`, or `package.module:function`, a function
        (installed, or in the current folder) that returns the model and may take `num_classes`.
    n_classes
        The number of classes.
    arguments
        What else the function takes.

    Raises
    ------
    ModelError
        If there is no such model, or its package is not installed or broken.

    Examples
    --------
    >>> import qpopt_torch
    >>> model = qpopt_torch.build("torch.nn:LazyLinear", 4, out_features=4)
    >>> model.specification.name
    'torch.nn:LazyLinear'
    """
    # A command, unlike python -m, does not look into the current folder by itself.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    return _made(name, n_classes, arguments, _function(name))


def rebuild(specification: Specification, n_classes: int) -> nn.Module:
    """Build a model that a file specifies, running nothing but what builds models.

    Raises
    ------
    ModelError
        If it cannot be built, or should not be.
    """
    source, _, what = specification.name.partition(":")
    if source == "transformers":
        return _of_transformers(what, specification.arguments, n_classes)
    if not specification.is_harmless:
        raise ModelError(f"{specification.name} is not run because a file says so.")
    # The current folder is not added to where Python looks: it may have come with the file.
    function = _function(specification.name)
    # Packages hand on what is not theirs.
    made_by = function.func if isinstance(function, partial) else function
    origin = getattr(made_by, "__module__", None) or ""
    if not Specification(f"{origin}:{what}").is_harmless:
        raise ModelError(f"{specification.name} is not run because a file says so.")
    return _made(specification.name, n_classes, specification.arguments, function)


def _function(name: str) -> Callable[..., Any]:
    """Return what builds a model, by its name."""
    source, separator, what = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not (source and separator and what):
        raise ModelError(
            f"The model {shown(name)} must be given as torchvision:name, timm:name or "
            "package.module:function."
        )
    place = {"torchvision": "torchvision.models"}.get(source, source)
    try:
        module = import_module(place)
    except Exception as error:  # a package may fail in its own way, with whatever error
        hint = f" Install it: pip install {source}."
        if not isinstance(error, ImportError):
            hint = (
                " The torchvision installed belongs to another build of torch; install a pair of "
                "one build, for example pip install --force-reinstall --no-deps torch torchvision "
                "--index-url https://download.pytorch.org/whl/cpu."
            )
        raise ModelError(
            f"Cannot import {place}: {type(error).__name__}: {error}."
            f"{hint if source in ('torchvision', 'timm') else ''}"
        ) from error
    if source == "timm":
        if not module.is_model(what):
            raise ModelError(f"timm has no model {what!r}.")
        return partial(module.create_model, what)
    try:
        function = getattr(module, what, None)
    except Exception as error:  # a package that loads its parts when they are asked for
        raise ModelError(f"{name} fails: {type(error).__name__}: {reason(error)}.") from error
    if not callable(function):
        raise ModelError(f"{place} has no function {what!r}.")
    found: Callable[..., Any] = function
    return found


def _made(
    name: str, n_classes: int, arguments: Mapping[str, Any], function: Callable[..., Any]
) -> nn.Module:
    takes = name.startswith(("timm:", "torchvision:")) or _takes_classes(function)
    given = {"num_classes": n_classes, **arguments} if takes else arguments
    try:
        model = function(**given)
    except Exception as error:  # the code of a user may fail in any way
        raise ModelError(f"{name} fails: {type(error).__name__}: {reason(error)}.") from error
    if not isinstance(model, nn.Module):
        raise ModelError(f"{name} gives {type(model).__name__}, not a torch.nn.Module.")
    told: Any = model
    told.specification = Specification(name, arguments)
    return model


def _of_transformers(name: str, config: Mapping[str, Any], n_classes: int) -> nn.Module:
    """Build a model of transformers of its configuration."""
    try:
        package: Any = import_module("transformers")
    except ImportError as error:
        raise ModelError("Cannot import transformers: pip install transformers.") from error
    kind: Any = getattr(package, name, None)
    known = isinstance(kind, type) and issubclass(kind, package.PreTrainedModel)
    if not known:
        raise ModelError(f"transformers has no model {name!r}.")
    try:
        made = kind.config_class.from_dict({**config, "num_labels": n_classes})
        model: nn.Module = kind(made)
    except Exception as error:  # a configuration that was edited may fail in any way
        raise ModelError(f"transformers:{name} fails: {type(error).__name__}: {error}.") from error
    return model


def _takes_classes(function: Callable[..., Any]) -> bool:
    try:
        return "num_classes" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some that are not written in Python do not tell
        return False


def pretrained_model(name: str, n_classes: int) -> tuple[nn.Module, tuple[str, ...]]:
    """Build a model of timm or torchvision with the weights that its package has for it.

    Returns
    -------
    tuple
        The model, and the layers that the weights do not fit, whose values are random.

    Raises
    ------
    ModelError
        If the package has no weights for it, or cannot fetch them.
    """
    source, _, what = name.partition(":")
    if source not in PRETRAINED:
        raise ModelError(f"Only models of timm and torchvision bring weights, not {name!r}.")
    model = build(name, n_classes)
    package = import_module(PRETRAINED[source])
    try:
        if source == "timm":
            trained = package.create_model(what, pretrained=True)
        else:
            trained = package.get_model(what, weights="DEFAULT")
    except OSError as error:
        raise ModelError(
            f"The weights of {name} cannot be fetched: {type(error).__name__}: {reason(error)}. "
            "Without a connection, load them from a file (--weights)."
        ) from error
    except Exception as error:  # of the package, which has its own ways to say that it has none
        said = " ".join(str(error).split())[:200]
        raise ModelError(
            f"There are no weights for {name}: {type(error).__name__}: {said}."
        ) from error
    return model, _load_fitting(model, trained.state_dict(), f"of {name}")


def load_fitting(model: nn.Module, path: Path) -> tuple[str, ...]:
    """Load weights as `load_weights` does, which may be of another number of classes.

    Returns
    -------
    tuple
        The layers that gave the classes, whose values stay random; none where all fit.
    """
    return _load_fitting(model, read_weights(path), f"in {path}")


def _load_fitting(model: nn.Module, state: Mapping[str, Tensor], where: str) -> tuple[str, ...]:
    own = model.state_dict()
    other = {
        key: (own[key].shape, value.shape)
        for key, value in state.items()
        if key in own and own[key].shape != value.shape
    }
    # Another number of classes makes the first axis of a head another one, everywhere alike.
    lengths = {(a[:1], b[:1]) for a, b in other.values()}
    rest = all(a[1:] == b[1:] for a, b in other.values())
    if not (other and rest and len(lengths) == 1):
        load_state(model, state, where)
        return ()
    load_state(model, {**state, **{key: own[key] for key in other}}, where)
    return tuple(dict.fromkeys(key.rpartition(".")[0] for key in other))


def load_weights(model: nn.Module, path: Path) -> None:
    """Load a .safetensors file or a checkpoint of torch.save into a model.

    Raises
    ------
    InvalidFile
        If the file cannot be read or holds no weights.
    ModelError
        If the weights do not fit; it says which.
    """
    load_state(model, read_weights(path), f"in {path}")


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the weights in a .safetensors file or a checkpoint of torch.save.

    Raises
    ------
    InvalidFile
        If the file cannot be read or holds no weights.
    """
    try:
        if path.suffix == ".safetensors":
            state: Any = safetensors.torch.load(path.read_bytes())
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except (*UNREADABLE, SafetensorError) as error:
        raise InvalidFile(f"Cannot read weights from {path}: {reason(error)}.") from error
    for key in NESTED:
        if isinstance(state, Mapping) and isinstance(state.get(key), Mapping):
            state = state[key]
    if not isinstance(state, Mapping) or not all(isinstance(v, Tensor) for v in state.values()):
        raise InvalidFile(f"{path} holds no state dictionary of tensors.")
    return {key.removeprefix("module."): value for key, value in state.items()}


def _kind(values: Tensor) -> tuple[bool, bool]:
    """Tell floats, complex and whole numbers apart: precision may be converted, not these."""
    return values.is_floating_point(), values.is_complex()


def load_state(model: nn.Module, state: Mapping[str, Tensor], where: str) -> None:
    """Load all weights of a model, or say exactly which of those `where` they are do not fit."""
    own = model.state_dict()
    problems = {
        "missing in the file": sorted(own.keys() - state.keys()),
        "unknown to the model": sorted(state.keys() - own.keys()),
        "of another shape": [
            f"{key} {tuple(own[key].shape)} instead of {tuple(state[key].shape)}"
            for key in sorted(own.keys() & state.keys())
            if own[key].shape != state[key].shape
        ],
        "of another kind": [
            f"{key} {own[key].dtype} instead of {state[key].dtype}"
            for key in sorted(own.keys() & state.keys())
            if _kind(own[key]) != _kind(state[key])
        ],
    }
    said = [
        f"{len(keys)} {what}: {', '.join(keys[:SHOWN])}{', …' if len(keys) > SHOWN else ''}"
        for what, keys in problems.items()
        if keys
    ]
    if said:
        raise ModelError(
            f"The weights {where} do not fit this {type(model).__name__}: {'; '.join(said)}."
        )
    model.load_state_dict(state)
