"""What lies behind a cut of a network, run by itself from activations that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.data.inputs import Batch, call, repeated
from qpopt_torch.errors import ModelError
from qpopt_torch.network.observation import evaluating, hooked, run
from qpopt_torch.network.reading.outputs import Output, logits_of

N_PROBED = 4
"""Samples of a batch by which a cut is verified."""
TOLERANCE = 1e-4
"""Difference of logits, relative to the largest, that another order of operations may make."""


@dataclass(frozen=True)
class Cut:
    """A place where a network can be cut.

    Parameters
    ----------
    name
        The first layer behind it.
    shape
        Of the activations of one sample.
    share
        How much of the multiplications of a forward pass lies behind it.
    """

    name: str
    shape: tuple[int, ...]
    share: float

    @property
    def numbers(self) -> int:
        """How many numbers an activation has."""
        return torch.Size(self.shape).numel()


@dataclass
class _Recording:
    """What a forward pass shows of a cut: what reaches it, and what was computed before."""

    received: Tensor | None = None
    outputs: dict[str, list[Any]] = field(default_factory=dict)


class Tail:
    """The layers of a network behind a cut.

    All that comes before is left out: its layers answer what they answered for one sample, and what
    the first layer behind the cut receives is put in its place. So whatever the code of the network
    does in between, only the layers behind are computed.

    Parameters
    ----------
    core
        The network.
    x
        Inputs of a real batch.
    name
        The first layer behind the cut.
    output
        Which output of the network is the logits, where it has several.

    Raises
    ------
    ModelError
        If the logits depend on anything before the cut but by what this layer receives.
    """

    def __init__(self, core: nn.Module, x: Batch, name: str, output: Output = None) -> None:
        x = x[:N_PROBED]
        with evaluating(core), torch.no_grad():
            seen, logits = _recorded(core, x, name, output)
        if seen.received is None:
            raise ModelError(f"{name!r} is not called with a tensor, so no cut can be made there.")
        done = {n for n, outputs in seen.outputs.items() if all(map(torch.is_tensor, outputs))}
        outermost = [n for n in done if not any(parent in done for parent in _parents(n))]
        first = x[:1]
        self.name = name
        self.sample = first.clone() if isinstance(first, Tensor) else first.map_tensors(torch.clone)
        self.answers = {
            n: [out[:1].clone() if len(out) == len(x) else out for out in seen.outputs[n]]
            for n in outermost
        }
        with evaluating(core), torch.no_grad():
            found = logits_of(self(core, seen.received), output)
        if not torch.isfinite(logits).all() or _apart(found, logits) > TOLERANCE:
            raise ModelError(
                f"The network cannot be cut in front of {name!r}: the logits depend on something "
                "before it that does not go through it."
            )

    def __call__(self, core: nn.Module, activations: Batch) -> Any:
        """Return what the network gives for activations that reach the cut."""
        assert isinstance(activations, Tensor)  # those that are kept are one tensor
        n = len(activations)
        if activations.ndim == 4 and activations.device.type == "cpu" and torch.is_grad_enabled():
            # With channels last, processors take a third less for a step of training.
            activations = activations.contiguous(memory_format=torch.channels_last)

        def replaced(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
            return (activations, *args[1:])

        with ExitStack() as stack:
            for name, answers in self.answers.items():
                stack.enter_context(_answering(core.get_submodule(name), answers, n))
            stack.enter_context(hooked({}, {core.get_submodule(self.name): replaced}))
            return call(core, repeated(self.sample, n))


@torch.no_grad()
def activations_at(core: nn.Module, x: Batch, name: str, number: int) -> Tensor:
    """Return what a layer receives in a forward pass of a batch of that number."""
    kept: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Any, ...]) -> None:
        kept.append(args[0].detach().clone())

    with evaluating(core), hooked({}, {core.get_submodule(name): keep}):
        run(core, x, number)
    return kept[0]


@torch.no_grad()
def cuts(core: nn.Module, x: Batch) -> list[Cut]:
    """Return all places where a network might be cut, from the input on; not verified."""
    x = x[:N_PROBED]
    started: list[tuple[str, tuple[int, ...] | None]] = []
    costs: list[float] = []
    names = {module: name for name, module in core.named_modules() if name}

    def start(module: nn.Module, args: tuple[Any, ...]) -> None:
        first = args[0] if args and isinstance(args[0], Tensor) else None
        usable = first is not None and first.is_floating_point() and len(first) == len(x)
        shape = tuple(first.shape[1:]) if first is not None and usable else None
        started.append((names[module], shape))
        costs.append(0.0)

    def end(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        weight = getattr(module, "weight", None)
        if isinstance(weight, Tensor) and weight.ndim > 1 and isinstance(output, Tensor):
            at = max(i for i, (name, _) in enumerate(started) if name == names[module])
            costs[at] = output[0].numel() * weight[0].numel()

    with evaluating(core), hooked(dict.fromkeys(names, end), dict.fromkeys(names, start)):
        run(core, x, 0)
    times = Counter(name for name, _ in started)
    whole = max(sum(costs), 1.0)
    return [
        Cut(name, shape, sum(costs[at:]) / whole)
        for at, (name, shape) in enumerate(started)
        if shape is not None and times[name] == 1
    ]


def _recorded(core: nn.Module, x: Batch, name: str, output: Output) -> tuple[_Recording, Tensor]:
    seen = _Recording()
    names = {module: n for n, module in core.named_modules() if n}

    def keep(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if seen.received is None:
            kept = output.detach().clone() if isinstance(output, Tensor) else output
            seen.outputs.setdefault(names[module], []).append(kept)

    def cut(module: nn.Module, args: tuple[Any, ...]) -> None:
        if seen.received is None and args and isinstance(args[0], Tensor):
            seen.received = args[0].detach().clone()

    with hooked(dict.fromkeys(names, keep), {core.get_submodule(name): cut}):
        logits = logits_of(run(core, x, 0), output)
    return seen, logits


@contextmanager
def _answering(module: nn.Module, answers: list[Tensor], n: int) -> Iterator[None]:
    """Let a layer give known answers, repeated for n samples, for its first calls."""
    own: dict[str, Any] = vars(module)
    before: Callable[..., Any] | None = own.get("forward")
    computed, left = module.forward, iter(answers)

    def forward(*args: Any, **keywords: Any) -> Any:
        answer = next(left, None)
        if answer is None:
            return computed(*args, **keywords)
        return answer.expand(n, *answer.shape[1:]) if len(answer) == 1 else answer

    own["forward"] = forward
    try:
        yield
    finally:
        if before is None:
            del own["forward"]
        else:
            own["forward"] = before


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _apart(found: Tensor, expected: Tensor) -> float:
    if found.shape != expected.shape:
        return float("inf")
    scale = max(float(expected.abs().max()), 1e-30)
    return float((found - expected).abs().max()) / scale
