"""Looking into a model while it runs, and leaving it exactly as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.errors import ModelError


def unwrap(model: nn.Module) -> nn.Module:
    """Return the module inside torch.compile, DataParallel and DistributedDataParallel."""
    if not isinstance(model, nn.Module):
        raise ModelError(f"The model must be a torch.nn.Module, not {type(model).__name__}.")
    while True:
        if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            break
    if isinstance(model, torch.jit.ScriptModule):
        raise ModelError(
            "The model is a TorchScript module, whose layers cannot be observed; pass the "
            "original nn.Module."
        )
    return model


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run the block in evaluation mode and give every module its own training flag back."""
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, flag in flags:
            module.training = flag


@contextmanager
def hooked(
    hooks: Mapping[nn.Module, Callable[..., Any]],
    pre_hooks: Mapping[nn.Module, Callable[..., Any]] | None = None,
) -> Iterator[None]:
    """Install forward hooks for the length of the block.

    Compiled code does not call hooks that come after its first run, so everything inside the
    block runs eagerly.
    """
    handles = []
    with ExitStack() as stack:
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        try:
            for module, hook in hooks.items():
                handles.append(module.register_forward_hook(hook))
            for module, hook in (pre_hooks or {}).items():
                handles.append(module.register_forward_pre_hook(hook))
            yield
        finally:
            for handle in handles:
                handle.remove()


def on_last_call(hook: Callable[..., Any], calls: int) -> Callable[..., Any]:
    """Let a hook act only on the last of the `calls` calls of its module in a forward pass.

    One activation module may serve many layers; its last call is the one that matters.
    """
    count = 0

    def counting(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return hook(*arguments) if count % calls == 0 else None

    return counting


def logits_of(output: Any) -> Tensor:
    """Return the logits in whatever a classifier returned: N × classes.

    Raises
    ------
    ModelError
        If there are none.
    """
    found = output
    if hasattr(output, "logits"):
        found = output.logits
    elif isinstance(output, Mapping) and "logits" in output:
        found = output["logits"]
    elif isinstance(output, (tuple, list)) and output:
        found = output[0]
    if not isinstance(found, Tensor):
        raise ModelError(
            f"The model returns {type(output).__name__}, in which there are no logits; it must "
            "return a tensor, or an object, mapping or tuple that holds them."
        )
    if found.ndim != 2:
        raise ModelError(
            f"The model's output has the shape {tuple(found.shape)}; a classifier gives one row "
            "of logits for each sample."
        )
    return found
