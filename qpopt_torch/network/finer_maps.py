"""finer_maps: larger feature maps from the same weights."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from qpopt_torch.data.inputs import Batch, whole_batch
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.network.geometry import PADS, Changes, OnGrid, apply_changes, coarsens, spread
from qpopt_torch.network.head import Head
from qpopt_torch.network.head_finder import HeadLike, head_of
from qpopt_torch.network.observation import Call, evaluating, observe, unwrap, watch

N_PROBED = 2
"""Samples that are looked at."""
GUESSED = 224
"""Height and width of the picture that stands in for inputs where none are given."""
TOLERANCE = 1e-3
"""Difference, relative to the largest value, that another order of operations may make."""

logger = logging.getLogger("qpopt")


def finer_maps(
    model: nn.Module,
    inputs: Batch | None = None,
    stages: int = 1,
    *,
    dilate: bool = True,
    head: HeadLike = None,
) -> nn.Module:
    """Return a copy of a model whose feature maps are finer, with the same weights.

    The last steps that make maps smaller, strided convolutions or poolings, get a stride of 1, and
    everything behind them reaches twice as far. So the new maps hold the old values at every second
    position, and others between them: no training is needed, but every layer behind works on four
    times as many positions. How much a forward pass then costs is logged.

    Parameters
    ----------
    model
        A trained network, or a sparse classifier.
    inputs
        Inputs of a real batch, on the model's device, on which all of this is verified; without
        them, noise of 224 × 224.
    stages
        How many steps to leave out.
    dilate
        Whether what lies behind reaches farther. Without, the old values are lost and the network
        has to be trained: the published form, meant for the time before any training.
    head
        As in `collect`.

    Returns
    -------
    Module
        A new model. `qpopt_torch.load` makes the maps of a sparse one that was saved finer again,
        so it is given the plain architecture.

    Raises
    ------
    ModelError
        If there is no such step, or the new maps do not hold the old values.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> layers = nn.Conv2d(3, 12, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    >>> model = nn.Sequential(*layers, nn.Linear(12, 4))
    >>> x = torch.rand(2, 3, 33, 33)
    >>> finer = qpopt_torch.finer_maps(model, x)
    >>> model[:2](x).shape[2:], finer[:2](x).shape[2:]
    (torch.Size([15, 15]), torch.Size([29, 29]))
    """
    core: Any = unwrap(model)
    sparse = isinstance(getattr(core, "head", None), Head)
    x = _made_up(core) if inputs is None else whole_batch(inputs, core)[:N_PROBED]
    found = core.head if sparse else head_of(core, x, head)
    finer: Any = deepcopy(core)
    refine(finer.network if sparse else finer, found, x, stages, dilate=dilate)
    made: nn.Module = finer
    return made


def refine(core: nn.Module, head: Head, x: Batch, stages: int = 1, *, dilate: bool = True) -> None:
    """Make the maps of a model finer in place; arguments as in `finer_maps`."""
    check_stages(stages)
    if head.layer is None:
        raise ModelError("The features of this model have no maps that could be made finer.")
    x = x[:N_PROBED]
    with evaluating(core), torch.no_grad():
        first = before = _look(core, head, x)
        for _ in range(stages):
            before = _one_stage(core, head, x, before, dilate)
    logger.info(
        "feature maps of %s positions instead of %s; a forward pass takes %.1f times as many "
        "multiplications.",
        *(" × ".join(map(str, seen.maps.shape[2:])) for seen in (before, first)),
        _cost(before.calls) / _cost(first.calls),
    )


class _Seen(NamedTuple):
    """What a forward pass shows: the calls of all modules, and the feature maps."""

    calls: list[Call]
    maps: Tensor


def _look(core: nn.Module, head: Head, x: Batch) -> _Seen:
    with observe(core, head) as seen:
        calls = watch(core, x)[0]
    assert seen.maps is not None
    return _Seen(calls, seen.maps)


def check_stages(stages: Any) -> None:
    """Raise unless this is a number of steps that can be left out."""
    if isinstance(stages, bool) or not isinstance(stages, int) or stages < 1:
        raise ModelError(f"stages must be a whole number of at least 1, not {shown(stages)}.")


def split_head(head: HeadLike) -> tuple[HeadLike, dict[str, Any] | None]:
    """Return what says where the head is, and how much finer its maps are to be, if they are."""
    if not isinstance(head, Mapping) or "finer_maps" not in head:
        return head, None
    rest = {key: value for key, value in head.items() if key != "finer_maps"}
    wanted = head["finer_maps"]
    return rest, None if wanted is None else _options(wanted)


def _options(wanted: Any) -> dict[str, Any]:
    """Return arguments of `refine` from what `head=` holds: a number of stages, or arguments.

    Raises
    ------
    ModelError
        If it is neither.
    """
    options = dict(wanted) if isinstance(wanted, Mapping) else {"stages": wanted}
    if unknown := sorted(set(options) - {"stages", "dilate"}):
        raise ModelError(f"finer_maps may have stages and dilate, not {unknown[0]!r}.")
    check_stages(options.setdefault("stages", 1))
    return options


def _one_stage(core: nn.Module, head: Head, x: Batch, before: _Seen, dilate: bool) -> _Seen:
    """Leave out the last step that makes maps smaller; return what the changed model shows."""
    steps, behind, pools = _structure(before.calls)
    first = steps[0]
    factor = _factor(first)
    changes: Changes = {call.name: {"stride": [1] * len(factor)} for call in steps}
    for call in behind if dilate else ():
        changes[call.name] = changes.get(call.name, {}) | spread(call.module, call.name, factor)
    apply_changes(core, changes)
    with _still_running(core, first.name):
        # Where the old positions are depends on how the step pads.
        step = {first.name: core.get_submodule(first.name)}
        offset = _offset(first.output, watch(core, x, step)[0][0].output, factor)
        if dilate and offset is not None and pools:
            grid = {"every": list(factor), "first": list(offset)}
            apply_changes(core, {call.name: grid for call in pools})
        after = _look(core, head, x)
    if dilate and (offset is None or not _holds(before.maps, after.maps, factor, offset)):
        raise ModelError(
            f"The maps of this {type(core).__name__} cannot be made finer: with a stride of 1 in "
            f"{first.name!r} they do not hold the old values, because something behind it depends "
            "on the number of positions. dilate=False asks for less, but then the model has to be "
            "trained."
        )
    return after


def _structure(calls: list[Call]) -> tuple[list[Call], list[Call], list[Call]]:
    """Return the last step that makes maps smaller, what lies behind it, and pools in between.

    A step is one layer or several side by side.
    """
    steps = [call for call in calls if coarsens(call)]
    if not steps:
        raise ModelError(
            "No layer of this model makes feature maps smaller by a stride, so they cannot be "
            "made finer."
        )
    last = steps[-1]
    coarse, fine = _size(last.output), _size(last.received)
    steps = [c for c in steps if (_size(c.output), _size(c.received)) == (coarse, fine)]
    # A layer without padding makes maps a little smaller still.
    later = calls[calls.index(steps[0]) + 1 :]
    at_coarse = [call for call in later if _fits_in(_size(call.received), coarse)]
    behind = [call for call in at_coarse if _reaches(call.module)]
    weighing = [at for at, call in enumerate(at_coarse) if _weighs(call)]
    kinds = (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d, OnGrid)
    inner = at_coarse[: weighing[-1]] if weighing else []
    pools = [call for call in inner if isinstance(call.module, kinds)]
    return steps, behind, pools


def _offset(old: Tensor, new: Tensor, factor: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return at which of the new positions the old ones begin."""
    every = product(*(range(step) for step in factor))
    return next((first for first in every if _holds(old, new, factor, first)), None)


def _holds(old: Tensor, new: Tensor, factor: tuple[int, ...], first: Iterable[int]) -> bool:
    if new.ndim != old.ndim or len(factor) != old.ndim - 2:
        return False
    where: Any = (..., *(slice(at, None, by) for at, by in zip(first, factor, strict=True)))
    found = new[where]
    if found.shape != old.shape:
        return False
    largest = float(old.abs().max())
    return float((found - old).abs().max()) <= TOLERANCE * max(largest, 1e-30)


@contextmanager
def _still_running(core: nn.Module, step: str) -> Iterator[None]:
    """Name the step whose stride is 1 now if the model fails."""
    try:
        yield
    except ModelError as error:
        raise ModelError(
            f"The maps of this {type(core).__name__} cannot be made finer: with a stride of 1 in "
            f"{step!r} it does not run. {error}"
        ) from error


def _made_up(core: nn.Module) -> Tensor:
    """Return noise in place of pictures."""
    first = next((m for m in core.modules() if isinstance(m, nn.Conv2d)), None)
    if first is None:
        raise ModelError("The model has no convolution, so finer_maps needs inputs to look at.")
    generator = torch.Generator().manual_seed(0)
    shape = (N_PROBED, first.in_channels, GUESSED, GUESSED)
    return torch.randn(shape, generator=generator).to(first.weight)


def _size(values: Tensor | None) -> tuple[int, ...] | None:
    """Return the positions of maps, N × channels × positions …; None if these are no maps."""
    return None if values is None or values.ndim < 3 else tuple(values.shape[2:])


def _fits_in(size: tuple[int, ...] | None, coarse: tuple[int, ...] | None) -> bool:
    if size is None or coarse is None or len(size) != len(coarse):
        return False
    return all(own <= whole for own, whole in zip(size, coarse, strict=True))


def _factor(step: Call) -> tuple[int, ...]:
    stride: Any = step.module.stride
    n_axes = step.output.ndim - 2
    return tuple(stride) if isinstance(stride, (tuple, list)) else (int(stride),) * n_axes


def _reaches(module: nn.Module) -> bool:
    """Whether a layer looks at several positions, or makes room for one that does."""
    if isinstance(module, PADS):
        return True
    size: Any = getattr(module, "kernel_size", 1)
    return any(side > 1 for side in (size if isinstance(size, tuple) else (size,)))


def _weighs(call: Call) -> bool:
    return isinstance(call.module, nn.modules.conv._ConvNd)


def _cost(calls: list[Call]) -> float:
    """Return the multiplications of all convolutions and linear layers for one sample."""
    total = 0.0
    for call in calls:
        if isinstance(weight := getattr(call.module, "weight", None), Tensor) and weight.ndim > 1:
            total += call.output[0].numel() * weight[0].numel()
    return total
