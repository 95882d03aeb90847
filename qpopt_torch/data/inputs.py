"""Inputs: what a model takes for a batch where that is more than one tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor, nn

from qpopt_torch.errors import LoaderError, shown

LABEL_KEYS = ("labels", "label", "target", "targets")
"""What labels are called in a mapping; they are no inputs."""
IMAGE_AXES = 3
"""Axes of a sample that may be a picture: channels, rows and columns."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Several inputs of one batch, by name or in their order; it is sliced like a tensor.

    Parameters
    ----------
    values
        The inputs in their order. Tensors have the samples along their first axis.
    names
        What they are called; None where their order tells.
    whole
        Whether the model takes all of them as one mapping.
    """

    values: tuple[Any, ...]
    names: tuple[str, ...] | None = None
    whole: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any] | Sequence[Any], *, whole: bool = False) -> Inputs:
        """Return a mapping or a sequence as inputs."""
        if isinstance(values, Mapping):
            return cls(tuple(values.values()), tuple(map(str, values)), whole)
        return cls(tuple(values))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Those that are tensors with an axis of samples."""
        return tuple(v for v in self.values if isinstance(v, Tensor) and v.ndim)

    @property
    def main(self) -> Tensor:
        """The tensor that says most of a sample to a person: a picture, a series, else the first.

        A name decides where it is one of the usual ones.
        """
        tensors = self.tensors
        for name in ("pixel_values", "input_ids"):
            if isinstance(found := self.named(name), Tensor):
                return found
        floats = [v for v in tensors if v.is_floating_point()]
        pictures = [v for v in floats if v.ndim > IMAGE_AXES]
        return (pictures or floats or tensors)[0]

    @property
    def device(self) -> torch.device:
        """Where the inputs are."""
        return self.main.device

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(value.nbytes for value in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, which: Any) -> Inputs:
        """Return some of the samples; an index gives one without its axis."""
        n = len(self)

        def taken(value: Any) -> Any:
            along = isinstance(value, Tensor) and value.ndim and len(value) == n
            return value[which] if along else value

        return self.map(taken)

    def map(self, change: Callable[[Any], Any]) -> Inputs:
        """Return the inputs with every value changed."""
        return Inputs(tuple(map(change, self.values)), self.names, self.whole)

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> Inputs:
        """Return the inputs with every tensor changed."""
        return self.map(lambda value: change(value) if isinstance(value, Tensor) else value)

    def to(self, device: torch.device | str) -> Inputs:
        """Return the inputs on a device."""
        return self.map_tensors(lambda value: value.to(device))

    def cpu(self) -> Inputs:
        """Return the inputs on the CPU."""
        return self.to("cpu")

    def named(self, name: str) -> Any:
        """Return the input of a name; None if there is none."""
        return dict(zip(self.names or (), self.values, strict=False)).get(name)

    def plain(self) -> dict[str, Any] | tuple[Any, ...]:
        """Return the inputs as a mapping or a tuple, as functions of a user get them."""
        if self.names is None:
            return self.values
        return dict(zip(self.names, self.values, strict=True))

    def call(self, model: nn.Module) -> Any:
        """Return what a model gives for these inputs."""
        if self.whole:
            return model(self.plain())
        if self.names is None:
            return model(*self.values)
        return model(**dict(zip(self.names, self.values, strict=True)))


Batch = Tensor | Inputs
"""What a model takes for a batch."""


def call(model: nn.Module, x: Batch) -> Any:
    """Return what a model gives for the inputs of a batch."""
    return x.call(model) if isinstance(x, Inputs) else model(x)


def main_of(x: Batch) -> Tensor:
    """Return the tensor of a batch that says most to a person."""
    return x.main if isinstance(x, Inputs) else x


def plain(x: Batch) -> Any:
    """Return inputs as functions of a user get them: a tensor, a mapping or a tuple."""
    return x.plain() if isinstance(x, Inputs) else x


def repeated(x: Batch, n: int) -> Batch:
    """Return the first sample of a batch n times."""

    def one(value: Tensor) -> Tensor:
        return value[:1].expand(n, *value.shape[1:]) if value.ndim else value

    return x.map_tensors(one) if isinstance(x, Inputs) else one(x)


def described(x: Batch) -> str:
    """Say of what kind and shape inputs are."""
    if isinstance(x, Tensor):
        return f"{str(x.dtype).removeprefix('torch.')} of the shape {tuple(x.shape)}"
    names = x.names or [f"input {i}" for i in range(len(x.values))]
    return "; ".join(
        f"{name}: {described(value) if isinstance(value, Tensor) else type(value).__name__}"
        for name, value in zip(names, x.values, strict=True)
    )


def fitted(given: Any, model: nn.Module | None, number: int = 0) -> Batch:
    """Return the inputs of a batch as a model takes them.

    A mapping is handed over by its keys, those that the model does not know are left out; several
    tensors in their order; and a mapping as a whole to a model that takes one argument.

    Parameters
    ----------
    given
        A tensor, a mapping or a sequence of tensors.
    model
        The model; None where it is not known, so that nothing is left out.
    number
        Of the batch, for errors.

    Raises
    ------
    LoaderError
        If they are something else, or the model cannot take them.
    """
    if isinstance(given, Tensor | Inputs):
        return given
    if isinstance(given, Mapping):
        found = _by_name(given, model, number)
    elif isinstance(given, Sequence) and given and all(isinstance(v, Tensor) for v in given):
        found = given[0] if len(given) == 1 else _in_order(given, model, number)
    else:
        raise LoaderError(f"The inputs of batch {number} are {type(given).__name__}, not a tensor.")
    if isinstance(found, Inputs) and not found.tensors:
        raise LoaderError(f"The inputs of batch {number} hold no tensor.")
    return found


def whole_batch(x: Any, model: nn.Module, what: str = "A batch of inputs") -> Batch:
    """Return inputs as a model takes them; LoaderError unless there are some."""
    if not isinstance(x, Tensor | Inputs | Mapping | list | tuple):
        raise LoaderError(f"{what} is a tensor, or several, not {shown(x)}.")
    found = fitted(x, model)
    for one in found.tensors if isinstance(found, Inputs) else [found]:
        if one.ndim == 0 or one.numel() == 0:
            raise LoaderError(f"{what} must not be empty; it has the shape {tuple(one.shape)}.")
    return found


def _by_name(given: Mapping[Any, Any], model: nn.Module | None, number: int) -> Batch:
    given = {str(key): value for key, value in given.items() if key not in LABEL_KEYS}
    tensors = {key: value for key, value in given.items() if isinstance(value, Tensor)}
    if not tensors:
        listed = ", ".join(map(str, given))
        raise LoaderError(f"The inputs of batch {number}, {listed}, hold no tensor.")
    if model is None:
        return Inputs.of(tensors)
    taken, anything = _parameters(model)
    known = {key: value for key, value in given.items() if key in taken}
    needed = [name for name, optional in taken.items() if not optional]
    if known and all(name in known for name in needed):
        first = next(iter(taken))
        return known[first] if list(known) == [first] else Inputs.of(known)
    if len(tensors) == 1:
        return next(iter(tensors.values()))
    if anything and not needed:
        return Inputs.of(tensors)
    if len(needed) == 1 and not isinstance(model, nn.Sequential):
        return Inputs.of(given, whole=True)
    raise LoaderError(
        f"Batch {number} has the inputs {', '.join(tensors)}; {_takes(model, taken)}. Name them "
        f"alike, or {_ADVICE}."
    )


def _in_order(given: Sequence[Tensor], model: nn.Module | None, number: int) -> Inputs:
    if model is not None:
        forward = signature(_forward(model))
        try:
            forward.bind(*given)
        except TypeError:
            taken, _ = _parameters(model)
            raise LoaderError(
                f"Batch {number} has {len(given)} inputs; {_takes(model, taken)}. Give it what it "
                f"takes, or {_ADVICE}."
            ) from None
    return Inputs.of(given)


_ADVICE = "pass head={'unpack': a function of a batch that returns inputs and labels}"


def _takes(model: nn.Module, taken: Mapping[str, bool]) -> str:
    needed = [name for name, optional in taken.items() if not optional]
    count = "one" if len(needed or taken) == 1 else f"{len(needed or taken)}"
    return f"the model takes {count} ({', '.join(needed or taken)})"


def _parameters(model: nn.Module) -> tuple[dict[str, bool], bool]:
    """Return the arguments of a model, each with whether it may be left out; and if any name goes.

    Those that can only be given in order are not among them.
    """
    parameters = signature(_forward(model)).parameters.values()
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    taken = {p.name: p.default is not p.empty for p in parameters if p.kind in named}
    return taken, any(p.kind is p.VAR_KEYWORD for p in parameters)


def _forward(model: nn.Module) -> Callable[..., Any]:
    """Return what a model does, inside of wrappers that hand everything on."""
    while True:
        inner: Any = None
        if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            inner = model.module
        else:
            # torch.compile and sparse classifiers take whatever the network inside them takes.
            inner = getattr(model, "_orig_mod", getattr(model, "network", None))
            kinds = {p.kind for p in signature(model.forward).parameters.values()}
            anything = {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}
            if kinds - {Parameter.POSITIONAL_ONLY} != anything:
                inner = getattr(model, "_orig_mod", None)
        if not isinstance(inner, nn.Module):
            forward: Callable[..., Any] = model.forward
            return forward
        model = inner
