"""Finding the classifier head and the feature maps of any model, from one real batch.

Nothing is believed because of a name or a place. The head is a linear layer whose output *is* the
logits: its values agree, and when other values are put in its place the model returns those. The
feature layer is found in the same two ways: pooling its output gives what the head receives, for
the real maps and for random ones put in their place.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.errors import ModelError, check_keywords, shown
from qpopt_torch.network.head import Head
from qpopt_torch.network.layout import Layout, layouts
from qpopt_torch.network.observation import (
    Call,
    evaluating,
    hooked,
    logits_of,
    on_last_call,
    unwrap,
    watch,
)

logger = logging.getLogger("qpopt")

HeadLike = Head | nn.Module | str | Mapping[str, Any] | None
"""A head, its module or name, arguments of `find_head`, or None where it is to be found."""

N_PROBED = 4
"""Samples of the batch that are looked at: a few show as much as all."""

SHOWN = 8
"""Candidates that an error lists."""


def find_head(
    model: nn.Module,
    x: Tensor,
    *,
    head: nn.Module | str | None = None,
    feature_layer: nn.Module | str | None = None,
) -> Head:
    """Find the head and the feature maps of a model.

    Parameters
    ----------
    model
        A classifier; wrappers of torch.compile, DataParallel and DDP are looked through.
    x
        Inputs of one real batch, on the model's device.
    head, feature_layer
        The module or its name, where it is known. It is checked like every other candidate.

    Returns
    -------
    Head
        Without a `layer` if pooling no layer's output gives what the head receives: then the
        features have no maps.

    Raises
    ------
    ModelError
        If no head can be verified; it lists the candidates and says what to pass.

    Examples
    --------
    >>> import torch
    >>> import qpopt_torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(9, 12), torch.nn.ReLU(), torch.nn.Linear(12, 4))
    >>> head = qpopt_torch.find_head(model, torch.randn(8, 9))
    >>> head.name, head.n_features, head.n_classes
    ('2', 12, 4)
    """
    core = unwrap(model)
    if not isinstance(x, Tensor) or not x.ndim or not len(x):
        raise ModelError(f"x must be the inputs of one real batch, a tensor, not {shown(x)}.")
    x = x[:N_PROBED]
    with evaluating(core), torch.no_grad():
        found = _linear_head(core, x, None if head is None else _named(core, head, "head"))
        wanted = None if feature_layer is None else _named(core, feature_layer, "feature_layer")
        return _with_maps(core, x, found, wanted)


def head_of(model: nn.Module, x: Tensor, head: HeadLike) -> Head:
    """Return the head that is meant: itself, or what `find_head` finds in one real batch.

    Raises
    ------
    ModelError
        If no head can be verified.
    """
    options = check_head(model, head)
    if isinstance(head, Head):
        return head
    found = find_head(model, x, **options)
    maps = "no feature maps" if found.layer is None else f"feature maps {found.layer!r}"
    logger.info("head %r with %d features, %s", found.name, found.n_features, maps)
    return found


def check_head(model: nn.Module, head: HeadLike) -> Mapping[str, Any]:
    """Return a head as arguments of `find_head`, if the model has all modules that it names.

    Raises
    ------
    ModelError
        If it is none of what `HeadLike` says, or of another model.
    """
    core = unwrap(model)
    if isinstance(head, Head):
        head.modules(core)
        return {}
    options = head if isinstance(head, Mapping) else {"head": head}
    check_keywords("head", options, find_head)
    for argument, module in options.items():
        if module is not None:
            _named(core, module, argument)
    return options


def _linear_head(core: nn.Module, x: Tensor, wanted: str | None) -> Head:
    if _is_linear(core):
        raise ModelError(
            "The model is a single linear layer, so its features are its inputs; pass "
            "nn.Sequential(nn.Identity(), model) to select among these."
        )
    linear = {name: m for name, m in core.named_modules() if _is_linear(m)}
    if wanted is not None and wanted not in linear:
        raise ModelError(
            f"The head {wanted!r} is a {type(core.get_submodule(wanted)).__name__}; it must be "
            "a Linear layer or a convolution with kernel size 1."
        )
    calls, logits = watch(core, x, linear)
    if not torch.isfinite(logits).all():
        raise ModelError("The model's logits for the first batch are NaN or infinite.")
    candidates = [call for call in calls if wanted in (None, call.name)]
    for call in reversed(candidates):
        if sum(other.name == call.name for other in calls) > 1:
            continue
        fits = call.output.numel() == logits.numel() and call.received is not None
        if fits and _close(call.output.flatten(), logits.flatten()) and _decides(core, x, call):
            assert call.received is not None
            return Head(call.name, call.received.numel() // len(x), logits.shape[1])
    raise ModelError(_no_head(calls, candidates, logits, wanted))


def _no_head(calls: list[Call], candidates: list[Call], logits: Tensor, wanted: str | None) -> str:
    lines = [f"{call.name}: {_shapes(call)}" for call in calls[-SHOWN:]]
    listed = "; ".join(lines) or "none was called"
    for call in reversed(candidates):
        if call.output.shape != logits.shape:
            continue
        for function in (torch.softmax, torch.log_softmax):
            if _close(function(call.output, 1), logits):
                return (
                    f"The model returns the {function.__name__} of its head {call.name!r}; pass a "
                    "model that returns the logits themselves."
                )
    if wanted is not None:
        return (
            f"The output of the head {wanted!r} is not what the model returns, of shape "
            f"{tuple(logits.shape)}. Linear layers in the order of their calls: {listed}."
        )
    return (
        f"No linear layer gives the model's output, of shape {tuple(logits.shape)}, so there is no "
        f"head to replace. Linear layers in the order of their calls: {listed}. If one of them "
        "is the head, let the model return its output, called once, and pass head=its name."
    )


def _with_maps(core: nn.Module, x: Tensor, head: Head, wanted: str | None) -> Head:
    """Add to a head its feature layer, a norm after the pooling, and dropouts to leave out."""
    calls, _ = watch(core, x)
    counts = Counter(call.name for call in calls)
    last: dict[str, Call] = {}  # the last call of every module, beginning at the end
    for call in reversed(calls):
        last.setdefault(call.name, call)
    at_head = last.pop(head.name)
    assert at_head.received is not None
    features = at_head.received.flatten()
    same = [
        call
        for call in last.values()
        if counts[call.name] == 1 and torch.equal(call.output.flatten(), features)
    ]
    dropouts = tuple(call.name for call in reversed(same) if isinstance(call.module, _DROPOUTS))
    head = replace(head, dropouts=dropouts)
    candidates = [call for call in last.values() if wanted in (None, call.name)]
    if wanted is not None and not candidates:
        raise ModelError(
            f"The feature layer {wanted!r} gives no tensor in a forward pass; pass a layer inside "
            "or around it."
        )
    for point in (at_head, *filter(_is_norm, same)):
        assert point.received is not None
        norm = None if point is at_head else point.name
        for call in candidates:
            for layout in layouts(call.output.shape, head.n_features):
                found = replace(
                    head, layer=call.name, layout=layout, norm=norm, calls=counts[call.name]
                )
                if _pools_to(layout, call.output, point.received) and _confirmed(
                    core, x, call, found, point
                ):
                    return found
    if wanted is not None:
        raise ModelError(
            f"The output of the feature layer {wanted!r}, {_shapes(candidates[0])}, cannot be "
            f"pooled to what the head {head.name!r} receives, {tuple(at_head.received.shape)}."
        )
    return head


_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)


def _is_linear(module: nn.Module) -> bool:
    if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return all(size == 1 for size in module.kernel_size) and module.groups == 1
    return isinstance(module, nn.Linear)


def _is_norm(call: Call) -> bool:
    """Whether a call is a norm whose input has the same features as its output."""
    same_size = call.received is not None and call.received.numel() == call.output.numel()
    return same_size and "norm" in type(call.module).__name__.lower()


def _decides(core: nn.Module, x: Tensor, call: Call) -> bool:
    """Whether the model returns whatever the head gives: put other values in its place and see."""
    probe = _random_like(call.output)
    with hooked({call.module: lambda *_: probe.clone()}):
        return _close(logits_of(core(x)).flatten(), probe.flatten())


def _confirmed(core: nn.Module, x: Tensor, call: Call, head: Head, point: Call) -> bool:
    """Whether random maps in place of the layer's output reach `point` pooled."""
    probe = _random_like(call.output)
    seen: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Any, ...]) -> None:
        seen.append(args[0].detach().clone())

    swap = on_last_call(lambda *_: probe.clone(), head.calls)
    with hooked({call.module: swap}, {point.module: keep}):
        core(x)
    assert head.layout is not None
    return len(seen) == 1 and _pools_to(head.layout, probe, seen[0])


def _pools_to(layout: Layout, output: Tensor, received: Tensor) -> bool:
    pooled = layout.pool(output.double())
    return pooled.numel() == received.numel() and _close(
        received.flatten().double(), pooled.flatten(), output.dtype
    )


def _random_like(values: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return (2 * torch.rand(values.shape, generator=generator) - 1).to(values)


def _close(a: Tensor, b: Tensor, dtype: torch.dtype | None = None) -> bool:
    """Whether two tensors agree up to the rounding of their precision."""
    dtype = dtype or b.dtype
    tolerance = {torch.float64: 1e-9, torch.float32: 1e-4}.get(dtype, 8 * torch.finfo(dtype).eps)
    scale = float(b.abs().max())
    return float((a.double() - b.double()).abs().max()) <= tolerance * max(scale, 1e-30)


def _named(core: nn.Module, module: nn.Module | str, argument: str) -> str:
    """Return the name of a module that the user gave."""
    found: dict[str, nn.Module] = dict(core.named_modules())
    if isinstance(module, str):
        if module in found:
            return module
        near = [name for name in found if name.endswith(module.rsplit(".", 1)[-1])][:SHOWN]
        hint = f" Did you mean one of {', '.join(near)}?" if near else ""
        raise ModelError(f"{argument}: the model has no module {module!r}.{hint}")
    if not isinstance(module, nn.Module):
        raise ModelError(f"{argument} must be a module or its name, not {shown(module)}.")
    inner = unwrap(module)
    for name, other in found.items():
        if other is inner or other is module:
            return name
    raise ModelError(f"{argument}: the {type(inner).__name__} given is no part of the model.")


def _shapes(call: Call) -> str:
    received = "?" if call.received is None else tuple(call.received.shape)
    return f"{received} → {tuple(call.output.shape)}"
