"""How layers look at positions: strides, dilations, and grids of every second position, as data."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from torch import Tensor, nn

from qpopt_torch.errors import ModelError
from qpopt_torch.network.observation import Call

Changes = dict[str, dict[str, list[int]]]
"""Attributes that layers get, by the names of the layers; as JSON can hold it."""

PADS = (nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d)
"""Padding as a layer of its own, as in networks that pad as TensorFlow does."""
POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)


class OnGrid(nn.Module):
    """A layer that sees every few positions only, such as a pooling that must not see more.

    Parameters
    ----------
    layer
        The layer.
    every, first
        Steps along the axes of positions, and where they begin.
    """

    def __init__(self, layer: nn.Module, every: list[int], first: list[int]) -> None:
        super().__init__()
        self.layer = layer
        self.every, self.first = every, first

    def forward(self, x: Tensor) -> Tensor:
        """Return what the layer gives for the positions of the grid."""
        axes = zip(self.first, self.every, strict=True)
        where: Any = (..., *(slice(first, None, step) for first, step in axes))
        seen: Tensor = self.layer(x[where])
        return seen


def coarsens(call: Call) -> bool:
    """Whether a layer makes maps smaller by its stride, and not to a single position."""
    module, received = call.module, call.received
    if not isinstance(module, (nn.modules.conv._ConvNd, *POOLS)) or received is None:
        return False
    strides: Any = module.stride
    moves = any(s > 1 for s in (strides if isinstance(strides, (tuple, list)) else (strides,)))
    before, after = received.shape[2:], call.output.shape[2:]
    return moves and before != after and prod(after) > 1


def spread(module: nn.Module, name: str, factor: tuple[int, ...]) -> dict[str, list[int]]:
    """Return what makes a layer reach `factor` times as far along each axis.

    Raises
    ------
    ModelError
        If it cannot.
    """
    if isinstance(module, PADS):
        # What is added on both sides of each axis, the last axis first.
        sides = [by for by in reversed(factor) for _ in range(2)]
        return {"padding": _times(module.padding, tuple(sides))}
    if not isinstance(getattr(module, "dilation", None), (int, tuple)):
        raise ModelError(
            f"{name!r}, a {type(module).__name__}, cannot reach farther, so the maps of this model "
            "cannot be made finer."
        )
    made = {"dilation": _times(module.dilation, factor)}
    if not isinstance(module.padding, str):
        made["padding"] = _times(module.padding, factor)
    return made


def apply_changes(model: nn.Module, changes: Mapping[str, Mapping[str, list[int]]]) -> None:
    """Change layers in place, and note it in `model.finer_maps`, from which it can be repeated.

    How they were before is in `model.coarser_maps`.

    Raises
    ------
    ModelError
        If the model has no such layers.
    """
    known = dict(model.named_modules())
    if missing := [name for name in changes if name not in known]:
        raise ModelError(f"The model ({type(model).__name__}) has no module {missing[0]!r}.")
    before: Changes = {}
    for name, values in changes.items():
        module = known[name]
        if "every" in values:
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, OnGrid(module, **values))
            continue
        before[name] = set_geometry(module, values)
    noting: Any = model
    known_changes = getattr(model, "finer_maps", [])
    noting.finer_maps = [*known_changes, {name: dict(values) for name, values in changes.items()}]
    # Of several changes of one attribute, the first one knows how it was.
    first: Changes = getattr(model, "coarser_maps", {})
    names = dict.fromkeys([*first, *before])
    noting.coarser_maps = {n: {**before.get(n, {}), **first.get(n, {})} for n in names}


def set_geometry(layer: nn.Module, values: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Give a layer other attributes; return those that it had."""
    module: Any = layer
    before: dict[str, list[int]] = {}
    for attribute, value in values.items():
        old = getattr(module, attribute)
        before[attribute] = list(old) if isinstance(old, (tuple, list)) else [old] * len(value)
        kept = value[0] if isinstance(old, int) else type(old)(value)
        setattr(module, attribute, kept)
    if "padding" in values and hasattr(module, "_reversed_padding_repeated_twice"):
        sides = [side for side in reversed(values["padding"]) for _ in range(2)]
        module._reversed_padding_repeated_twice = sides
    return before


def _times(values: Any, factor: tuple[int, ...]) -> list[int]:
    each = values if isinstance(values, (tuple, list)) else (values,) * len(factor)
    return [value * by for value, by in zip(each, factor, strict=True)]
