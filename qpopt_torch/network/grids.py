"""Finer maps as what they are: coarse maps on several grids, interleaved.

With the dilation behind them, layers of finer maps never mix positions of different grids. So they
can run as they were before, on one grid or on all of them side by side in the batch, and give the
same values: torch is far slower at dilated filters than at plain ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.network.geometry import Changes, OnGrid, set_geometry
from qpopt_torch.network.observation import evaluating, hooked

TOLERANCE = 1e-3
"""Difference of logits, relative to the largest, that another order of operations may make."""

ON_GRIDS = "running_on_grids"
"""The attribute of a model that runs on its grids just now."""

Steps = dict[str, tuple[int, tuple[int, ...]]]
"""Layers that no longer make maps smaller: which stage they belong to, and their old strides."""


def steps_of(core: nn.Module) -> Steps:
    """Return the layers whose stride `finer_maps` took away; none if the maps are not finer."""
    stages: list[Changes] = getattr(core, "finer_maps", [])
    before: Changes = getattr(core, "coarser_maps", {})
    return {
        name: (number, tuple(before[name]["stride"]))
        for number, changes in enumerate(stages)
        for name, values in changes.items()
        if "stride" in values
    }


@contextmanager
def one_grid(core: nn.Module) -> Iterator[None]:
    """Run a model whose maps are finer on one of its coarse grids, which is drawn.

    Parameters
    ----------
    core
        A model after `finer_maps`.
    """
    steps = steps_of(core)
    drawn = {
        number: tuple(int(torch.randint(by, ())) for by in factor)
        for number, factor in steps.values()
    }

    def taken(x: Tensor, name: str) -> Tensor:
        number, factor = steps[name]
        axes = zip(drawn[number], factor, strict=True)
        where: Any = (..., *(slice(first, None, by) for first, by in axes))
        return x[where]

    with _as_before(core, taken):
        yield


@contextmanager
def side_by_side(core: nn.Module, layer: nn.Module) -> Iterator[None]:
    """Run a model whose maps are finer on all grids at once; what comes out is the same.

    Parameters
    ----------
    core
        A model of which `are_grids` holds.
    layer
        The layer whose output is the feature maps; behind it they are whole again.
    """
    if getattr(core, ON_GRIDS, False):  # it is already
        yield
        return
    steps = steps_of(core)
    factors = dict(steps.values())

    def split(x: Tensor, name: str) -> Tensor:
        return _split(x, steps[name][1])

    def joined(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        for number in sorted(factors):
            output = _joined(output, factors[number])
        return output

    with _as_before(core, split):
        # Whoever looks at this layer sees whole maps.
        whole = layer.register_forward_hook(joined, prepend=True)
        try:
            yield
        finally:
            whole.remove()


def are_grids(core: nn.Module, layer: nn.Module | None, call: Callable[[], Tensor]) -> bool:
    """Whether the finer maps of a model are coarse ones, interleaved: verified by values.

    Parameters
    ----------
    core, layer
        As in `side_by_side`.
    call
        Runs the model on real inputs and returns its logits.
    """
    if not steps_of(core) or layer is None:
        return False
    with evaluating(core), torch.no_grad():
        whole = call()
        try:
            with side_by_side(core, layer):
                found = call()
        except _Uneven:
            return False
    if found.shape != whole.shape:
        return False
    largest = max(float(whole.abs().max()), 1e-30)
    return float((found - whole).abs().max()) <= TOLERANCE * largest


def consists_of_grids(core: nn.Module, layer: nn.Module | None, call: Callable[[], Tensor]) -> bool:
    """Whether each grid gives its part of the finer maps; they may differ by one position.

    Parameters
    ----------
    core, layer, call
        As in `are_grids`, which asks that all grids be of one size.
    """
    if are_grids(core, layer, call):
        return True
    steps = steps_of(core)
    if layer is None or len(set(steps.values())) != 1:
        return False
    ((_, factor),) = set(steps.values())
    whole = _output_of(core, layer, call)
    for first in product(*map(range, factor)):
        axes = zip(first, factor, strict=True)
        where: Any = (..., *(slice(at, None, by) for at, by in axes))
        with _as_before(core, _cut_at(where)):
            found = _output_of(core, layer, call)
        expected = whole[where]
        if found.shape != expected.shape:
            return False
        largest = max(float(expected.abs().max()), 1e-30)
        if float((found - expected).abs().max()) > TOLERANCE * largest:
            return False
    return True


def _cut_at(where: Any) -> Callable[[Tensor, str], Tensor]:
    return lambda x, name: x[where]


def _output_of(core: nn.Module, layer: nn.Module, call: Callable[[], Tensor]) -> Tensor:
    """Return what a layer gave last in a forward pass."""
    kept: list[Tensor] = []
    with evaluating(core), torch.no_grad(), hooked({layer: lambda m, a, out: kept.append(out)}):
        call()
    return kept[-1]


class _Uneven(Exception):
    """Grids of several sizes do not fit into one batch, or what comes out are no grids."""


@contextmanager
def _as_before(core: nn.Module, changed: Callable[[Tensor, str], Tensor]) -> Iterator[None]:
    """Let layers reach as far as before finer maps, and change what the steps give."""
    before: Changes = getattr(core, "coarser_maps", {})
    steps = steps_of(core)

    def hook(name: str) -> Callable[..., Tensor]:
        return lambda module, args, output: changed(output, name)

    undone = [
        (core.get_submodule(name), {key: old for key, old in values.items() if key != "stride"})
        for name, values in before.items()
    ]
    grids = [module for module in core.modules() if isinstance(module, OnGrid)]
    undone += [
        (grid, {"every": [1] * len(grid.every), "first": [0] * len(grid.first)}) for grid in grids
    ]
    now = [(module, set_geometry(module, values)) for module, values in undone]
    setattr(core, ON_GRIDS, True)
    try:
        with hooked({core.get_submodule(name): hook(name) for name in steps}):
            yield
    finally:
        delattr(core, ON_GRIDS)
        for module, values in now:
            set_geometry(module, values)


def _split(x: Tensor, factor: tuple[int, ...]) -> Tensor:
    """Return the grids of maps as further samples: all samples of the first grid, and so on."""
    n, channels, *sizes = x.shape
    if any(side % by for side, by in zip(sizes, factor, strict=True)):
        raise _Uneven
    parts = [part for side, by in zip(sizes, factor, strict=True) for part in (side // by, by)]
    places = range(2, 2 + 2 * len(factor))
    order = (*places[1::2], 0, 1, *places[::2])
    grids = x.reshape(n, channels, *parts).permute(order)
    return grids.reshape(-1, channels, *parts[::2])


def _joined(x: Tensor, factor: tuple[int, ...]) -> Tensor:
    """Return whole maps of their grids: the inverse of `_split`."""
    n, channels, *sizes = x.shape
    n_axes = len(factor)
    if n % prod(factor):
        raise _Uneven
    grids = x.reshape(*factor, -1, channels, *sizes)
    behind = range(n_axes + 2, 2 * n_axes + 2)
    order = [
        n_axes,
        n_axes + 1,
        *(i for pair in zip(behind, range(n_axes), strict=True) for i in pair),
    ]
    whole = grids.permute(order)
    sides = [side * by for side, by in zip(sizes, factor, strict=True)]
    return whole.reshape(whole.shape[0], channels, *sides)
