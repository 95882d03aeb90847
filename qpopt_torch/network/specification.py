"""Specification: how a model is built, in a form that a file can hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

OWN = "a class of yours"
"""What a file says of a model that cannot be built from what it holds."""


@dataclass(frozen=True)
class Specification:
    """How a model is built.

    Parameters
    ----------
    name
        `timm:NAME`, `torchvision:NAME`, `transformers:CLASS` or `package.module:function`.
    arguments
        What the function is given beside the number of classes; the configuration of a model of
        transformers.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_harmless(self) -> bool:
        """Whether a file may have it run: no function of Python itself, nothing that names a file.

        A file may come from strangers.
        """
        package = self.name.partition(":")[0].partition(".")[0]
        standard = package in sys.stdlib_module_names or package in ("torch", "pip", "setuptools")
        if not isinstance(self.arguments, Mapping):
            return False
        return not standard and all(map(_is_harmless, self.arguments.values()))


def specification_of(core: nn.Module) -> Specification | None:
    """Return how a model is built, if it says so itself; None for a class that does not.

    A model says so that `build` made, one of timm or transformers, and one with an attribute
    `specification`, which is a `Specification` or its name.
    """
    known = getattr(core, "specification", None)
    if isinstance(known, Specification | str):
        return known if isinstance(known, Specification) else Specification(known)
    package = type(core).__module__.partition(".")[0]
    told: Any
    config: Any = getattr(core, "config", None)
    if package == "transformers" and hasattr(config, "to_json_string"):
        told = json.loads(config.to_json_string())
        return Specification(f"transformers:{type(core).__name__}", told)
    told = getattr(core, "pretrained_cfg", None)
    if package == "timm" and isinstance(told, Mapping) and told.get("architecture"):
        return Specification(f"timm:{told['architecture']}", _shape_arguments(core, told))
    return None


def described(core: nn.Module) -> dict[str, Any]:
    """Return what a file says of how a model is built."""
    known = specification_of(core)
    if known is None:
        return {"model": f"{OWN}: {type(core).__name__}", "arguments": {}}
    return {"model": known.name, "arguments": dict(known.arguments)}


def _shape_arguments(core: nn.Module, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return channels and size of the inputs of a model of timm, where they are not its own."""
    expected = tuple(told.get("input_size", ()))
    found: dict[str, Any] = {}
    kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    first = next((module for module in core.modules() if isinstance(module, kinds)), None)
    if first is not None and expected and first.in_channels == 1 != expected[0]:
        found["in_chans"] = 1
    size = getattr(getattr(core, "patch_embed", None), "img_size", None)
    if isinstance(size, tuple) and expected and size != expected[1:]:
        found["img_size"] = list(size)
    return found


def _is_harmless(value: Any) -> bool:
    """Whether a value is a number, True, False, None or a list of these: it can name nothing."""
    if isinstance(value, list | tuple):
        return all(map(_is_harmless, value))
    return value is None or isinstance(value, bool | int | float)
