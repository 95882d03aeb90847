"""Groups of settings within a training, and what every setting may be."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf
from numbers import Integral, Real
from typing import Any

from qpopt_torch.errors import TrainingError, shown

WORDS = {
    "amp": ("auto", "off", "bfloat16", "float16"),
    "kind": ("linear", "mlp"),
    "algorithm": ("sgd", "adamw"),
    "annealing": ("steps", "cosine"),
    "norms": ("trained", "frozen"),
    "grids": ("all", "one"),
}
"""Settings that are words, and the words that they may be."""

CHANCES = ("momentum", "dropout", "smoothing", "noise", "leaking")
"""Settings that are chances, or shares: from 0 to below 1."""


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether a value is a number of at least 0, and finite."""
    number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    return number and bool(0 <= value < inf)


@dataclass(frozen=True, kw_only=True)
class TrialParams:
    """The trials that find a learning rate.

    Parameters
    ----------
    rates
        Learning rates that are tried: the published one, 4 times as much, a quarter, a sixteenth,
        and that of the released code.
    steps
        Steps of each trial: enough for the momentum to build up and for a rate that is too high
        to show. All trials use the same batches, of one epoch at most, again and again.
    """

    rates: tuple[float, ...] = (5.12e-2, 1.28e-2, 3.2e-3, 8e-4, 1e-4)
    steps: int = 40

    def __post_init__(self) -> None:
        rates = self.rates if isinstance(self.rates, (tuple, list)) else ()
        if not rates or not all(is_number(rate) and rate > 0 for rate in rates):
            raise TrainingError(f"rates must be learning rates above 0, not {shown(self.rates)}.")
        if not is_number(self.steps, whole=True) or self.steps < 1:
            raise TrainingError(
                f"steps must be a whole number of at least 1, not {shown(self.steps)}."
            )


@dataclass(frozen=True, kw_only=True)
class GroundingParams:
    """The feature grounding loss within a training; the published values are the defaults.

    Parameters
    ----------
    weight
        Of the loss, beside the cross entropy.
    others
        What a feature of another class weighs in it; see `feature_grounding_loss`.
    epochs
        Epochs of each stage in which it counts; the rest is trained without.
    """

    weight: float = 3.0
    others: float = 2.0
    epochs: int = 30

    def __post_init__(self) -> None:
        for name in ("weight", "others"):
            if not is_number(value := getattr(self, name)):
                raise TrainingError(f"{name} must be a number of at least 0, not {shown(value)}.")
        if not is_number(self.epochs, whole=True):
            raise TrainingError(
                f"epochs must be a whole number of at least 0, not {shown(self.epochs)}."
            )


def check_settings(settings: Any, **least: int) -> None:
    """Raise unless words are known, numbers at least 0, chances below 1, and the rest whole.

    What is in `least` is whole and as large; so is every seed.
    """
    for field in fields(settings):
        name, value = field.name, getattr(settings, field.name)
        if name in WORDS:
            fine, what = isinstance(value, str) and value in WORDS[name], " or ".join(WORDS[name])
        elif name == "relu":
            fine, what = isinstance(value, bool), "True or False"
        elif name == "from_layer":
            fine, what = isinstance(value, str) and bool(value), "the name of a layer, or auto"
        elif name == "trials":
            fine, what = isinstance(value, TrialParams), "TrialParams(…)"
        elif name == "grounding":
            fine = value is None or isinstance(value, GroundingParams)
            what = "GroundingParams(…) or None"
        elif name == "stages":
            fine, what = (
                _are_stages(settings),
                "lengths that add up to epochs, with annealing steps",
            )
        elif name in least or name == "seed":
            smallest = least.get(name, 0)
            fine = is_number(value, whole=True) and value >= smallest
            what = f"a whole number of at least {smallest}"
        elif name in CHANCES:
            fine, what = is_number(value) and 0 <= value < 1, "a number from 0 to below 1"
        else:
            fine = is_number(value) or (name in settings.automatic and value == "auto")
            what = "a number of at least 0"
        if not fine:
            label = "The adapter" if name == "kind" else name
            raise TrainingError(f"{label} must be {what}, not {shown(value)}.")


def _are_stages(settings: Any) -> bool:
    """Whether a training has no stages, or such as it can have."""
    stages = settings.stages
    if not isinstance(stages, tuple | list):
        return stages is None
    whole = all(is_number(length, whole=True) and length > 0 for length in stages)
    return whole and sum(stages) == settings.epochs and settings.annealing == "steps"
