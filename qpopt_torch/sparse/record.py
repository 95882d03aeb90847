"""Record: what a sparse classifier knows of its own making, kept in its config.json."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from torch import Tensor

from qpopt import __version__
from qpopt_torch.data.preprocessing import Preprocessing, preprocessing_of
from qpopt_torch.errors import ModelError

if TYPE_CHECKING:
    from qpopt_torch.metrics.summary import Metrics
    from qpopt_torch.training.loop import History

LIBRARIES = ("torch", "torchvision", "timm", "transformers", "numpy")


@dataclass
class Record:
    """What a sparse classifier knows of its own making.

    Parameters
    ----------
    input_shape
        The shape of one input; None where inputs are not one tensor.
    preprocessing
        How an image becomes an input, where that is known.
    metrics
        What was measured on validation samples, under `dense` and `sparse`.
    history
        What the training did.
    manifest
        The call that made it: all that decided the result.
    versions
        Of Python and of the libraries that were in use.
    """

    input_shape: tuple[int, ...] | None = None
    preprocessing: Preprocessing | None = None
    metrics: dict[str, Metrics] = field(default_factory=dict)
    history: History | None = None
    manifest: Mapping[str, Any] | None = None
    versions: dict[str, str] = field(default_factory=lambda: versions())

    def to_dict(self) -> dict[str, Any]:
        """Return the record as values that JSON can hold."""
        return {
            "input": None if self.input_shape is None else list(self.input_shape),
            "preprocessing": None if self.preprocessing is None else asdict(self.preprocessing),
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "history": None if self.history is None else asdict(self.history),
            "manifest": self.manifest,
            "versions": self.versions,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Record:
        """Rebuild a record but for metrics and history; what older files lack stays empty.

        Raises
        ------
        ModelError
            If a value is not possible; it names that.
        """
        shape, known = values.get("input"), values.get("preprocessing")
        manifest, told = values.get("manifest"), values.get("versions", {})
        fine = shape is None or (
            isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
        )
        _require(fine, "input", shape)
        _require(manifest is None or isinstance(manifest, dict), "manifest", manifest)
        fine = isinstance(told, dict) and all(isinstance(v, str) for v in told.values())
        _require(fine, "versions", told)
        return cls(
            None if shape is None else tuple(shape),
            None if known is None else Preprocessing.from_dict(known),
            manifest=manifest,
            versions=told,
        )


def record_of(loader: Iterable[Any], x: Any) -> Record:
    """Return what a loader and its inputs tell of how a model is to be used."""
    shape = tuple(x.shape[1:]) if isinstance(x, Tensor) else None
    return Record(shape, preprocessing_of(loader))


def check_told(values: Mapping[str, Any]) -> None:
    """Raise ModelError unless what a file says of metrics, training and model can be true."""
    metrics, history = values.get("metrics", {}), values.get("history")
    fine = isinstance(metrics, dict) and all(
        isinstance(found, dict) and all(map(_is_figure, found.values()))
        for found in metrics.values()
    )
    _require(fine, "metrics", metrics)
    fine = history is None or (
        isinstance(history, dict)
        and isinstance(history.get("epochs"), list)
        and all(
            isinstance(epoch, dict) and all(map(_is_figure, epoch.values()))
            for epoch in history["epochs"]
        )
        and isinstance(history.get("stopped"), str | None)
    )
    _require(fine, "history", history)
    model, arguments = values.get("model", ""), values.get("arguments", {})
    _require(isinstance(model, str), "model", model)
    _require(isinstance(arguments, dict), "arguments", arguments)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are in use."""
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in LIBRARIES}
    known = {name: str(found) for name, found in loaded.items() if found is not None}
    return {"python": platform.python_version(), "qpopt": __version__, **known}


def _is_figure(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and isfinite(value))


def _require(fine: bool, name: str, value: Any) -> None:
    if not fine:
        raise ModelError(f"{name} is {value!r}.")
