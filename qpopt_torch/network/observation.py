"""Looking into a model while it runs, and leaving it exactly as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from qpopt import QpoptError
from qpopt_torch.data.distributed import is_lost, lost
from qpopt_torch.data.inputs import Batch, Inputs, call, described, main_of
from qpopt_torch.errors import ModelError
from qpopt_torch.network.head import Head
from qpopt_torch.network.reading.outputs import logits_of
from qpopt_torch.network.reading.tokens import after, received_by, shown_input


@dataclass
class Features:
    """What a classifier saw in its last batch.

    Parameters
    ----------
    logits
        N × classes.
    features
        What the head receives, N × features.
    maps
        Their feature maps, N × features × positions; None where there are none. Positions that only
        fill the batch up, as after the end of a text, hold −inf.
    """

    logits: Tensor
    features: Tensor
    maps: Tensor | None = None


@contextmanager
def observe(model: nn.Module, head: Head, *, evaluate: bool = True) -> Iterator[Features]:
    """Look into a model: what the block gets is what its last forward pass showed.

    Parameters
    ----------
    model
        A classifier; wrappers are looked through, so call what `unwrap` gives.
    head
        Its head. If a module stands there that selects, features and maps are what it selects.
    evaluate
        Whether the block runs in evaluation mode and without gradients; as it is otherwise.
    """
    core = unwrap(model)
    module, layer = head.modules(core)
    select: Callable[..., Tensor] | None = getattr(module, "select", None)
    seen = Features(torch.empty(0), torch.empty(0))
    received: dict[str, Any] = {}

    def keep_input(module: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        nonlocal received
        received = received_by(core, args, keywords)

    def keep_features(module: nn.Module, args: tuple[Any, ...]) -> None:
        features = args[0].flatten(1)
        seen.features = features if select is None else select(features)

    def keep_maps(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        assert head.layout is not None
        if head.steps:
            output = after(core, head.steps, output)
        maps = head.layout.maps(output, like=shown_input(received))
        # All of them are the output itself, which a layer in place further on would change.
        maps = maps.clone() if select is None else select(maps, axis=1)
        there = None
        if head.mask is not None:
            there = head.layout.there(maps, head.mask.of(received))
        if there is not None:
            # A sample without any position would have no maximum.
            there = there | ~there.any(1, keepdim=True)
            maps = maps.masked_fill(~there[:, None], -torch.inf)
        seen.maps = maps

    def keep_logits(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        seen.logits = logits_of(output, head.output)

    hooks: dict[nn.Module, Callable[..., Any]] = {core: keep_logits}
    if layer is not None:
        hooks[layer] = on_last_call(keep_maps, head.calls)
    with hooked(hooks, {module: keep_features}), ExitStack() as stack:
        stack.callback(core.register_forward_pre_hook(keep_input, with_kwargs=True).remove)
        if evaluate:
            with evaluating(core), torch.no_grad():
                yield seen
        else:
            yield seen


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
    if any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers())):
        raise ModelError(
            "The model is on the meta device, where there are no values; load its weights first."
        )
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
    with torch.compiler.set_stance("force_eager"), ExitStack() as stack:
        for module, hook in hooks.items():
            stack.callback(module.register_forward_hook(hook).remove)
        for module, hook in (pre_hooks or {}).items():
            stack.callback(module.register_forward_pre_hook(hook).remove)
        yield


@dataclass
class Call:
    """One call of one module: what went in and what came out, as it was at that moment."""

    name: str
    module: nn.Module
    received: Tensor | None
    output: Tensor


def watch(
    core: nn.Module, x: Batch, modules: Mapping[str, nn.Module] | None = None
) -> tuple[list[Call], Any]:
    """Run a model; return the calls of its modules, or of some, and what the model returned."""
    calls: list[Call] = []
    every = dict(core.named_modules()) if modules is None else modules
    names = {module: name for name, module in every.items() if name}

    def record(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor):
            received = args[0] if args and isinstance(args[0], Tensor) else None
            # Operations in place would change what is kept here.
            kept = None if received is None or received.ndim < 1 else received.detach().clone()
            calls.append(Call(names[module], module, kept, output.detach().clone()))

    with hooked(dict.fromkeys(names, record)):
        returned = run(core, x, 0)
    return calls, returned


def run(model: nn.Module, x: Batch, number: int) -> Any:
    """Return what a model gives for a batch; ModelError if it raises."""
    with explained(model, x, number):
        return call(model, x)


@contextmanager
def explained(model: nn.Module, x: Batch, number: int) -> Iterator[None]:
    """Turn whatever a model raises on a batch into one ModelError that names both."""
    try:
        yield
    except QpoptError:
        raise
    except Exception as error:  # the code of a user may fail in any way
        if is_lost(error):
            raise lost() from None
        hint, shown = "", main_of(x)
        if not isinstance(x, Inputs) and not x.is_floating_point():
            hint = " If the model takes floats, convert them, for example x.float() / 255."
        said = " ".join(str(error).split()) or type(error).__name__
        batch = f"batch {number}, {described(x)}"
        if "channels" in said and (taken := _channels(model, shown)):
            raise ModelError(
                f"The model ({type(model).__name__}) takes inputs of {taken} channel"
                f"{'s' if taken > 1 else ''}, but those of {batch}, have {shown.shape[1]}."
            ) from error
        raise ModelError(
            f"The model ({type(model).__name__}) fails on {batch}: {said.rstrip('.')}.{hint}"
        ) from error


def _channels(model: nn.Module, x: Tensor) -> int:
    """Return how many channels the first convolution takes, if inputs have another number."""
    kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    first = next((module for module in model.modules() if isinstance(module, kinds)), None)
    if first is None or x.ndim < 3 or first.in_channels == x.shape[1]:
        return 0
    return first.in_channels


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
