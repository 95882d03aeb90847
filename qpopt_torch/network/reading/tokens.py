"""Tokens: which of them are there, and what happens to one on its way to the head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qpopt_torch.data.inputs import Inputs
from qpopt_torch.errors import ModelError

FUNCTIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "tanh()": torch.tanh,
    "relu()": torch.relu,
    "gelu()": F.gelu,
}
"""Functions that code calls between two layers, where no module shows them."""


@dataclass(frozen=True)
class Mask:
    """Which positions of a sample are there; the others only fill its batch up.

    Parameters
    ----------
    source
        The input that tells, by its name among the arguments of the model.
    padding
        Its value where there is nothing.
    """

    source: str
    padding: int

    def of(self, received: Mapping[str, Any]) -> Tensor | None:
        """Return where there is something, samples × positions; None if the input is missing."""
        values = received.get(self.source)
        return values != self.padding if isinstance(values, Tensor) and values.ndim == 2 else None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Mask:
        """Rebuild a mask from its values; ModelError where one is not possible."""
        mask = cls(**values)
        if not isinstance(mask.source, str) or type(mask.padding) is not int:
            raise ModelError(f"There is no {mask}.")
        return mask


def received_by(
    core: nn.Module, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a model was called with, by the names of its arguments."""
    found: dict[str, Any] = {}
    try:
        bound = signature(core.forward).bind_partial(*args, **keywords).arguments
    except TypeError:
        bound = {**{str(i): value for i, value in enumerate(args)}, **keywords}
    for name, value in bound.items():
        if isinstance(value, Mapping):
            found |= {str(key): one for key, one in value.items()}
        elif isinstance(value, tuple):
            found |= {f"{name}{i}": one for i, one in enumerate(value)}
        else:
            found[name] = value
    return found


def shown_input(received: Mapping[str, Any]) -> Tensor:
    """Return the input by whose proportions maps are laid out."""
    tensors = {name: v for name, v in received.items() if isinstance(v, Tensor) and v.ndim}
    return Inputs.of(tensors).main if tensors else torch.empty(0)


def masks_in(core: nn.Module, received: Mapping[str, Any]) -> list[Mask]:
    """Return what could tell which positions are there: first masks by name, then token numbers."""
    flat = {
        name: value
        for name, value in received.items()
        if isinstance(value, Tensor) and value.ndim == 2 and not value.is_complex()
    }
    named = [
        Mask(name, int("padding" in name))
        for name, value in flat.items()
        if "mask" in name and bool(((value == 0) | (value == 1)).all())
    ]
    tables = [module for module in core.modules() if isinstance(module, nn.Embedding)]
    fillers = {table.padding_idx for table in tables if table.padding_idx is not None} | {0}
    numbers = [
        Mask(name, int(filler))
        for name, value in flat.items()
        if tables and not value.is_floating_point() and "mask" not in name
        for filler in sorted(fillers, reverse=True)
    ]
    return named + numbers


def with_padding(x: Any) -> Any:
    """Return inputs whose named mask, where it is full, leaves out the last position of a sample.

    Otherwise nothing in the batch would tell a model that looks at the mask from one that does not.
    """
    if not isinstance(x, Inputs) or x.names is None:
        return x
    values = list(x.values)
    for i, (name, value) in enumerate(zip(x.names, values, strict=True)):
        flat = isinstance(value, Tensor) and value.ndim == 2 and value.shape[1] > 1
        if not flat or "mask" not in name:
            continue
        there = 1 - int("padding" in name)
        if bool((value == there).all()):
            values[i] = value.clone()
            values[i][0, -1] = 1 - there
    return Inputs(tuple(values), x.names, x.whole)


def after(core: nn.Module, steps: tuple[str, ...], values: Tensor) -> Tensor:
    """Return what becomes of values, whose last axis are features, in layers and functions."""
    for step in steps:
        function = FUNCTIONS[step] if step in FUNCTIONS else core.get_submodule(step)
        values = function(values)
    return values
