"""The head: the linear layer whose output is the logits, of the output that is meant."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.data.inputs import Batch
from qpopt_torch.errors import ModelError
from qpopt_torch.network.finding.values import SHOWN, close, random_like, shapes
from qpopt_torch.network.head import Head
from qpopt_torch.network.observation import Call, hooked, run, watch
from qpopt_torch.network.reading.outputs import ADVICE, Output, logits_of, possible


def linear_head(core: nn.Module, x: Batch, wanted: str | None, output: Output) -> Head:
    """Return the head, without its maps.

    Parameters
    ----------
    core, x
        The model and a real batch.
    wanted
        The name of the head where it is known.
    output
        Which output is meant; without it, the only one that a linear layer gives.

    Raises
    ------
    ModelError
        If no head can be verified, or several outputs have one.
    """
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
    calls, returned = watch(core, x, linear)
    candidates = [call for call in calls if wanted in (None, call.name)]
    known = possible(returned) if output is None else {}
    if len(known) < 2:
        logits = logits_of(returned, output)
        if not torch.isfinite(logits).all():
            raise ModelError("The model's logits for the first batch are NaN or infinite.")
        found = _giving(core, x, calls, candidates, logits, output)
        if found is None:
            raise ModelError(_no_head(calls, candidates, logits, wanted))
        return found
    each = {key: _giving(core, x, calls, candidates, values, key) for key, values in known.items()}
    heads = {key: found for key, found in each.items() if found is not None}
    if len(heads) == 1:
        return next(iter(heads.values()))
    listed = "; ".join(f"{key!r} {tuple(known[key].shape)}" for key in heads or known)
    what = "from a linear layer each" if heads else "none of them from a linear layer"
    raise ModelError(f"The model returns several outputs, {what}: {listed}; {ADVICE}.")


def _giving(
    core: nn.Module,
    x: Batch,
    calls: list[Call],
    candidates: list[Call],
    logits: Tensor,
    output: Output,
) -> Head | None:
    """Return the linear layer that gives these logits and decides about them."""
    for call in reversed(candidates):
        if sum(other.name == call.name for other in calls) > 1 or call.received is None:
            continue
        fits = call.output.numel() == logits.numel() and torch.isfinite(logits).all()
        if fits and close(call.output.flatten(), logits.flatten()):
            probe = random_like(call.output)
            with hooked({call.module: lambda *_, probe=probe: probe.clone()}):
                answer = logits_of(run(core, x, 0), output)
            if close(answer.flatten(), probe.flatten()):
                n_features = call.received.numel() // len(x)
                return Head(call.name, n_features, logits.shape[1], output=output)
    return None


def _no_head(calls: list[Call], candidates: list[Call], logits: Tensor, wanted: str | None) -> str:
    lines = [f"{call.name}: {shapes(call)}" for call in calls[-SHOWN:]]
    listed = "; ".join(lines) or "none was called"
    for call in reversed(candidates):
        if call.output.shape != logits.shape:
            continue
        for function in (torch.softmax, torch.log_softmax):
            if close(function(call.output, 1), logits):
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


def _is_linear(module: Any) -> bool:
    if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return all(size == 1 for size in module.kernel_size) and module.groups == 1
    return isinstance(module, nn.Linear)
