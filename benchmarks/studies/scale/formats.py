"""A ResNet50 in other formats: how long a forward pass takes, and a step of training."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.studies.scale.compiled import block_ratio, least
from benchmarks.studies.scale.resnet import resnet50
from qpopt_torch import DenseTraining, collect, find_head
from qpopt_torch.network.observation import evaluating
from qpopt_torch.training.loop import Training
from qpopt_torch.training.objectives import TrainingObjective


class Ratios(NamedTuple):
    """What a network costs, in seconds a sample, and in how many of those what else is done.

    Parameters
    ----------
    forward
        Seconds a sample of a bare forward pass.
    bare_step
        A plain step of training, of the cross entropy alone, in forward passes.
    collect, step
        The same pass in `collect`, in forward passes, and a step of our fine-tuning with its
        diversity loss, in plain steps.
    formats
        The forward pass in other formats, in those of float32, and that of a compiled block in
        those of one that is not; None where it does not compile.
    """

    forward: float
    bare_step: float
    collect: float
    step: float
    formats: dict[str, float | None]


def ratios(
    classes: int, side: int, batch: int, *, shrunk: int = 1, compiled: bool = True
) -> Ratios:
    """Measure a network of random weights on pictures of random points."""
    model = resnet50(classes, shrunk)
    x, y = torch.randn(batch, 3, side, side), torch.arange(batch) % classes
    head = find_head(model, x[:2])

    def forward() -> None:
        with evaluating(model), torch.no_grad():
            model(x)

    def collected() -> None:
        collect(model, [(x[:1], y[:1]), (x, y)], head=head, precision="float32", progress=False)

    plain = least(forward)
    work = least(collected) - least(
        lambda: collect(model, [(x[:1], y[:1])], head=head, progress=False)
    )
    bare, ours = (_step(model, head, beta, x, y) for beta in (0.0, 0.196))
    formats = _formats(model, x, plain)
    if compiled:
        formats["a compiled block"] = block_ratio(side, batch)
    return Ratios(plain / batch, bare / plain, work / plain, ours / bare, formats)


def _step(model: nn.Module, head: Any, beta: float, x: Tensor, y: Tensor) -> float:
    objective = TrainingObjective(model, head, beta).train()
    groups = [{"params": list(model.parameters()), "lr": 1e-9}]
    training = Training("", objective, groups, DenseTraining(epochs=1, amp="off"))
    spent = least(lambda: training.step([(x, y)]))
    model.eval()
    return spent


def _formats(model: nn.Module, x: Tensor, plain: float) -> dict[str, float | None]:
    last = torch.channels_last
    kinds: dict[str, tuple[Any, Any]] = {
        "bfloat16": (torch.contiguous_format, torch.bfloat16),
        "channels last": (last, None),
        "both": (last, torch.bfloat16),
    }
    found: dict[str, float | None] = {}
    for name, (layout, dtype) in kinds.items():
        other: nn.Module = model.to(memory_format=layout)  # type: ignore[call-overload]
        inputs = x.contiguous(memory_format=layout)

        def forward(other: nn.Module = other, inputs: Tensor = inputs, dtype: Any = dtype) -> None:
            with torch.no_grad(), torch.autocast("cpu", dtype) if dtype else nullcontext():
                other(inputs)

        found[name] = least(forward) / plain
    model.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    return found
