"""Finding the classifier head and the feature maps of any model, from one real batch.

Nothing is believed because of a name or a place. The head is a linear layer whose output *is* the
logits: its values agree, and when other values are put in its place the model returns those. The
feature layer is found in the same two ways: pooling its output gives what the head receives, for
the real maps and for random ones put in their place.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.data.inputs import Batch, Inputs, fitted
from qpopt_torch.data.unpacking import Unpack
from qpopt_torch.errors import ModelError, check_keywords, shown
from qpopt_torch.network.finding.linear import linear_head
from qpopt_torch.network.finding.maps import with_maps
from qpopt_torch.network.finding.values import SHOWN
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import evaluating, unwrap
from qpopt_torch.network.reading.outputs import Output, check_output
from qpopt_torch.network.reading.tokens import with_padding

logger = logging.getLogger("qpopt")

HeadLike = Head | nn.Module | str | Mapping[str, Any] | None
"""A head, its module or name, arguments of `find_head`, or None where it is to be found."""

N_PROBED = 4
"""Samples of the batch that are looked at: a few show as much as all."""


def find_head(
    model: nn.Module,
    x: Any,
    *,
    head: nn.Module | str | None = None,
    feature_layer: nn.Module | str | None = None,
    output: Output = None,
) -> Head:
    """Find the head and the feature maps of a model.

    Parameters
    ----------
    model
        A classifier; wrappers of torch.compile, DataParallel and DDP are looked through.
    x
        Inputs of one real batch, on the model's device: a tensor, or a mapping or tuple of several.
    head, feature_layer
        The module or its name, where it is known. It is checked like every other candidate.
    output
        Which output holds the logits, where the model has several: its name, its place, or a
        function of what the model returns.

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
    check_output(output)
    if isinstance(x, Mapping | tuple | list) and len(x):
        x = fitted(x, core)
    if not isinstance(x, Inputs) and (not isinstance(x, Tensor) or not x.ndim or not len(x)):
        raise ModelError(f"x must be the inputs of one real batch, a tensor, not {shown(x)}.")
    x = with_padding(x[:N_PROBED])
    with evaluating(core), torch.no_grad():
        found = linear_head(core, x, None if head is None else _named(core, head, "head"), output)
        wanted = None if feature_layer is None else _named(core, feature_layer, "feature_layer")
        return with_maps(core, x, found, wanted)


def head_of(model: nn.Module, x: Batch, head: HeadLike) -> Head:
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
    logger.info("%s", said_of(found))
    return found


def said_of(head: Head) -> str:
    """Say where a head and its maps are, and how these are pooled."""
    parts = [f"head {head.name!r} with {head.n_features} features"]
    if head.output is not None:
        parts.append(f"output {head.output!r}")
    if head.layer is None or head.layout is None:
        return ", ".join([*parts, "no feature maps"])
    pooling = {"mean": "average", "max": "maximum", "token": "class token"}[head.layout.pooling]
    parts += [f"feature maps {head.layer!r}", f"pooling: {pooling}"]
    if head.mask is not None:
        parts.append(f"positions by {head.mask.source!r}")
    return ", ".join(parts)


def split_unpack(head: HeadLike) -> tuple[HeadLike, Unpack | None]:
    """Return what says where the head is, and the function that takes batches apart, if any."""
    if not isinstance(head, Mapping) or "unpack" not in head:
        return head, None
    unpack = head["unpack"]
    if unpack is not None and not callable(unpack):
        raise ModelError(f"unpack must be a function of a batch, not {shown(unpack)}.")
    return {key: value for key, value in head.items() if key != "unpack"} or None, unpack


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
    check_output(options.get("output"))
    for argument, module in options.items():
        if module is not None and argument != "output":
            _named(core, module, argument)
    return options


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
