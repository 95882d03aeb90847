"""The feature maps: the layer whose output, pooled, is what the head receives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from qpopt_torch.data.inputs import Batch
from qpopt_torch.errors import ModelError
from qpopt_torch.network.finding.values import close, random_like, shapes
from qpopt_torch.network.head import Head
from qpopt_torch.network.layout import Layout, layouts
from qpopt_torch.network.observation import Call, hooked, on_last_call, run, watch
from qpopt_torch.network.reading.tokens import FUNCTIONS, Mask, after, masks_in, received_by

MOST_STEPS = 6
"""Layers between the pooling and the head that are looked through."""

_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)


class _Point(NamedTuple):
    """A place behind the pooling: the call that receives the pooled features."""

    call: Call
    norm: str | None = None
    steps: tuple[str, ...] = ()


class _Search(NamedTuple):
    """One batch, and what a forward pass of it showed."""

    core: nn.Module
    x: Batch
    head: Head
    at_head: Call
    masks: dict[Mask, Tensor]


def with_maps(core: nn.Module, x: Batch, head: Head, wanted: str | None) -> Head:
    """Add to a head its feature layer, a norm after the pooling, and dropouts to leave out."""
    received: dict[str, Any] = {}

    def keep(module: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        received.update(received_by(core, args, keywords))

    hook = core.register_forward_pre_hook(keep, with_kwargs=True)
    try:
        calls, _ = watch(core, x)
    finally:
        hook.remove()
    counts = Counter(call.name for call in calls)
    last: dict[str, Call] = {}  # the last call of every module, beginning at the end
    for call in reversed(calls):
        last.setdefault(call.name, call)
    at_head = last.pop(head.name)
    assert at_head.received is not None
    same = [
        call
        for call in last.values()
        if counts[call.name] == 1 and torch.equal(call.output.flatten(), at_head.received.flatten())
    ]
    dropouts = tuple(call.name for call in reversed(same) if isinstance(call.module, _DROPOUTS))
    head = replace(head, dropouts=dropouts)
    candidates = [call for call in last.values() if wanted in (None, call.name)]
    if wanted is not None and not candidates:
        raise ModelError(
            f"The feature layer {wanted!r} gives no tensor in a forward pass; pass a layer inside "
            "or around it."
        )
    masks = {
        mask: there for mask in masks_in(core, received) if (there := mask.of(received)) is not None
    }
    search = _Search(core, x, head, at_head, masks)
    once = [call for call in last.values() if counts[call.name] == 1]
    points = [_Point(at_head), *(_Point(call, call.name) for call in same if _is_norm(call))]
    for point in (*points, *_further(search, once)):
        for call in candidates:
            found = _pooled_at(search, point, call, counts[call.name])
            if found is not None:
                return found
    if wanted is not None:
        raise ModelError(
            f"The output of the feature layer {wanted!r}, {shapes(candidates[0])}, cannot be "
            f"pooled to what the head {head.name!r} receives, {tuple(at_head.received.shape)}."
        )
    return head


def _pooled_at(search: _Search, point: _Point, call: Call, calls: int) -> Head | None:
    """Return the head with a call as its feature layer, if its output is pooled at a point."""
    assert point.call.received is not None
    n_features = point.call.received.numel() // len(search.x)
    for layout, mask in _readings(search, call, n_features):
        if point.steps and layout.pooling != "token":
            continue  # what follows an average is not an average of what follows
        there = None if mask is None else search.masks[mask]
        if not _pools_to(layout, call.output, point.call.received, there):
            continue
        own = mask or _of_tokens(search, layout, call.output)
        found = replace(
            search.head,
            layer=call.name,
            layout=layout,
            norm=point.norm,
            calls=calls,
            steps=point.steps,
            mask=own,
        )
        if _confirmed(search, call, found, point, there):
            return found
    return None


def _readings(search: _Search, call: Call, n_features: int) -> Iterator[tuple[Layout, Mask | None]]:
    """Yield every way in which an output may be pooled: all positions, or those that are there."""
    known = list(layouts(call.output.shape, n_features))
    for layout in known:
        yield layout, None
    for mask, there in search.masks.items():
        if there.all():
            continue  # nothing could tell it from no mask
        for layout in known:
            if (
                layout.pooling != "token"
                and layout.there(layout.maps(call.output), there) is not None
            ):
                yield replace(layout, masked=True), mask


def _of_tokens(search: _Search, layout: Layout, output: Tensor) -> Mask | None:
    """Return a mask by name whose positions are those of an output, though none is pooled by it."""
    maps = layout.maps(output)
    fitting = (
        mask
        for mask, there in search.masks.items()
        if "mask" in mask.source and layout.there(maps, there) is not None
    )
    return next(fitting, None)


def _further(search: _Search, once: list[Call]) -> Iterator[_Point]:
    """Yield places further back, behind layers that work on every position by itself."""
    core, at = search.core, search.at_head
    steps: tuple[str, ...] = ()
    goal = at.received.flatten(1) if at.received is not None else torch.empty(0)
    for _ in range(MOST_STEPS):
        before = None if at.received is None else _before(once, at.received.flatten(1))
        if before is None:
            return
        call, function = before
        names = () if isinstance(call.module, (*_DROPOUTS, nn.Identity)) else (call.name,)
        steps = (*names, *((function,) if function else ()), *steps)
        at, once = call, [other for other in once if other is not call]
        assert at.received is not None
        if steps and close(after(core, steps, at.received), goal):
            yield _Point(at, steps=steps)


def _before(once: list[Call], values: Tensor) -> tuple[Call, str] | None:
    """Return the call whose output, or a function of it, are these values, and the function."""
    for call in once:
        received, output = call.received, call.output
        flat = received is not None and received.ndim == 2 and output.shape == values.shape
        if not flat or not _by_position(call.module):
            continue
        if torch.equal(output, values):
            return call, ""
        if isinstance(call.module, nn.Linear):
            for name, function in FUNCTIONS.items():
                if close(function(output), values):
                    return call, name
    return None


def _by_position(module: nn.Module) -> bool:
    """Whether a layer works on the features of every position by themselves, as far as its kind."""
    kind = type(module).__name__.lower()
    if any(True for _ in module.children()):
        return False
    if isinstance(module, (nn.Linear, nn.Identity, *_DROPOUTS)):
        return True
    if "norm" in kind:
        return "layer" in kind or "rms" in kind
    known = type(module).__module__ == "torch.nn.modules.activation" or "activation" in kind
    return known and "softm" not in kind and not any(True for _ in module.parameters())


def _is_norm(call: Call) -> bool:
    """Whether a call is a norm whose input has the same features as its output."""
    same_size = call.received is not None and call.received.numel() == call.output.numel()
    return same_size and "norm" in type(call.module).__name__.lower()


def _confirmed(
    search: _Search, call: Call, head: Head, point: _Point, there: Tensor | None
) -> bool:
    """Whether random maps in place of the layer's output reach the head as is claimed."""
    probe = random_like(call.output)
    seen: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Any, ...]) -> None:
        seen.append(args[0].detach().clone())

    target = search.at_head if point.steps else point.call
    swap = on_last_call(lambda *_: probe.clone(), head.calls)
    with hooked({call.module: swap}, {target.module: keep}):
        run(search.core, search.x, 0)
    assert head.layout is not None
    if len(seen) != 1:
        return False
    if point.steps:
        pooled = after(search.core, point.steps, head.layout.pool(probe))
        return close(pooled, seen[0].flatten(1))
    return _pools_to(head.layout, probe, seen[0], there)


def _pools_to(layout: Layout, output: Tensor, received: Tensor, there: Tensor | None) -> bool:
    pooled = layout.pool(output.double(), there)
    return pooled.numel() == received.numel() and close(
        received.flatten().double(), pooled.flatten(), output.dtype
    )
