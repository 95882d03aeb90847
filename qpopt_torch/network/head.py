"""Head: where a model turns features into logits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import nn

from qpopt_torch.errors import ModelError, shown
from qpopt_torch.network.layout import Layout
from qpopt_torch.network.reading.outputs import Output
from qpopt_torch.network.reading.tokens import FUNCTIONS, Mask

LARGEST = 2**31 - 1
"""No layer has more features, classes or calls."""


@dataclass(frozen=True)
class Head:
    """Where a model turns features into logits, and where its feature maps are.

    Modules are given by their names in the unwrapped model, so a head found on one copy of a
    model fits every other.

    Parameters
    ----------
    name
        The linear layer that gives the logits; what it receives are the features.
    n_features, n_classes
        Its sizes.
    layer
        The layer whose output is the feature maps, or None where there are none.
    layout
        How that output is read and pooled.
    norm
        A normalisation between the pooling and the head, which stays part of the network.
    dropouts
        Dropout layers right before the head; a sparse classifier brings its own.
    calls
        How often the layer is called in a forward pass; its last output counts.
    steps
        Layers and functions between the pooling and the head that work on every position alike;
        the maps are what they make of each.
    mask
        What tells which positions of a sample are there, where samples differ in length.
    output
        Which output of the model is the logits, where it has several.
    """

    name: str
    n_features: int
    n_classes: int
    layer: str | None = None
    layout: Layout | None = None
    norm: str | None = None
    dropouts: tuple[str, ...] = ()
    calls: int = 1
    steps: tuple[str, ...] = ()
    mask: Mask | None = None
    output: Output = None

    def to_dict(self) -> dict[str, Any]:
        """Return the head as values that JSON can hold; of a function only its name."""
        if not callable(self.output):
            return asdict(self)
        name = getattr(self.output, "__qualname__", type(self.output).__name__)
        return {**asdict(replace(self, output=None)), "output": {"function": name}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Head:
        """Rebuild a head from `to_dict`.

        Raises
        ------
        ModelError
            If a value is not possible; it names that.
        """
        layout = None if values["layout"] is None else Layout.from_dict(values["layout"])
        mask, output = values.get("mask"), values.get("output")
        several = {key: values.get(key, ()) for key in ("dropouts", "steps")}
        if isinstance(output, Mapping):
            output = Unknown(str(output.get("function")))
        elif callable(output) or not isinstance(output, str | int | None):
            raise ModelError(f"A head names an output, not {shown(output)}.")
        known = {
            "layout": layout,
            "mask": None if mask is None else Mask.from_dict(mask),
            "output": output,
            **{key: tuple(listed) for key, listed in several.items()},
        }
        head = cls(**{**values, **known})
        names = (head.name, *head.dropouts, *head.steps)
        names = (*names, *(n for n in (head.layer, head.norm) if n is not None))
        lists = all(isinstance(listed, list | tuple) for listed in several.values())
        if not lists or not all(isinstance(n, str) and n for n in names):
            raise ModelError(f"A head names modules, not {shown(names)}.")
        for label in ("n_features", "n_classes", "calls"):
            if type(count := getattr(head, label)) is not int or not 1 <= count <= LARGEST:
                raise ModelError(f"{label} of a head must be a whole number, not {shown(count)}.")
        if (head.layer is None) != (layout is None):
            raise ModelError("layer and layout of a head come together or not.")
        return head

    def modules(self, model: nn.Module) -> tuple[nn.Module, nn.Module | None]:
        """Return the head and the feature layer of a model without wrappers.

        Raises
        ------
        ModelError
            If the model has no modules of these names.
        """
        found = dict(model.named_modules())
        steps = (step for step in self.steps if step not in FUNCTIONS)
        for name in (self.name, self.layer, *steps):
            if name is not None and name not in found:
                raise ModelError(
                    f"The model ({type(model).__name__}) has no module {name!r}; it is not the "
                    "architecture in which this head was found."
                )
        return found[self.name], None if self.layer is None else found[self.layer]


@dataclass(frozen=True)
class Unknown:
    """The place of a function that picks the output, of which a file holds only the name."""

    name: str

    def __call__(self, returned: Any) -> Any:
        """Say what to pass."""
        raise ModelError(
            f"The output of this model is picked by a function, {self.name}, that no file holds; "
            "pass it: load(directory, output=function)."
        )
