"""Demands: what a person wants changed, one at a time, and the instance they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from qpopt import Instance, QpoptError
from qpopt_torch.errors import ModelError, shown

MOST_WEIGHT = 100.0
"""How many times as heavy bias and redundancy may become."""
MOST_COUNT = 10**6
"""No model has so many features."""
NAME_LENGTH = 80

KINDS: Mapping[str, tuple[str, ...]] = {
    "exclude": ("feature",),
    "require": ("feature",),
    "rename": ("feature", "name"),
    "forbid": ("feature", "of"),
    "assign": ("feature", "of"),
    "pair": ("of", "other"),
    "n_select": ("value",),
    "n_per_class": ("value",),
    "bias": ("value",),
    "redundancy": ("value",),
}
"""What may be demanded, and what each demand says beside its kind."""


@dataclass(frozen=True)
class Demand:
    """One thing that a person wants.

    Parameters
    ----------
    kind
        One of `KINDS`: `exclude` and `require` a feature, `rename` it, `forbid` it to a class or
        `assign` it to one, two classes that differ in one feature only (`pair`), the two counts,
        and the weights of bias and redundancy as multiples of what they were.
    feature
        Index of the feature in the dense model.
    of, other
        Numbers of classes.
    value
        A count or a weight.
    name
        The new name of a feature; an empty one takes the name away.
    """

    kind: str
    feature: int | None = None
    of: int | None = None
    other: int | None = None
    value: float | None = None
    name: str | None = None

    @classmethod
    def checked(cls, values: Any, n_features: int, n_classes: int) -> Demand:
        """Return the demand in a mapping, of a model with so many features and classes.

        Raises
        ------
        ModelError
            If it is none; it says what is wrong.
        """
        if not isinstance(values, Mapping) or values.get("kind") not in KINDS:
            raise ModelError(f"A demand is one of {', '.join(KINDS)}, not {shown(values)}.")
        kind = values["kind"]
        wanted = {"kind", *KINDS[kind]}
        if set(values) != wanted:
            raise ModelError(f"The demand {kind!r} says {' and '.join(KINDS[kind])}, nothing else.")
        ends = {"feature": n_features, "of": n_classes, "other": n_classes}
        for key, end in ends.items():
            number = values.get(key, 0)
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < end:
                raise ModelError(
                    f"{key} must be a number from 0 to {end - 1}, not {shown(number)}."
                )
        if "value" in wanted:
            _check_value(kind, values["value"])
        if "name" in wanted and not isinstance(values["name"], str):
            raise ModelError(f"A name is a text, not {shown(values['name'])}.")
        if kind == "pair" and values["of"] == values["other"]:
            raise ModelError("A pair needs two different classes.")
        demand = cls(**values)
        return demand if demand.name is None else cls(**{**values, "name": _tidy(demand.name)})

    def to_dict(self) -> dict[str, Any]:
        """Return what `checked` takes."""
        return {"kind": self.kind, **{key: getattr(self, key) for key in KINDS[self.kind]}}


@dataclass(frozen=True)
class Wishes:
    """What demands come to, taken together.

    Parameters
    ----------
    n_select, n_per_class
        The counts.
    bias, redundancy
        Weights, as multiples of those of the first instance.
    include, exclude
        Features.
    forbidden, required
        Pairs of class and feature.
    pairs
        Pairs of classes that differ in one feature.
    """

    n_select: int
    n_per_class: int
    bias: float = 1.0
    redundancy: float = 1.0
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    forbidden: tuple[tuple[int, int], ...] = ()
    required: tuple[tuple[int, int], ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, base: Instance, demands: Iterable[Demand]) -> Wishes:
        """Return what demands on an instance come to; of two numbers the later one counts."""
        numbers: dict[str, Any] = {"n_select": base.n_select, "n_per_class": base.n_per_class}
        listed: dict[str, list[Any]] = {field.name: [] for field in fields(cls)[4:]}
        listed["include"] += base.include
        listed["exclude"] += base.exclude
        for demand in demands:
            match demand.kind:
                case "exclude":
                    listed["exclude"].append(demand.feature)
                case "require":
                    listed["include"].append(demand.feature)
                case "forbid":
                    listed["forbidden"].append((demand.of, demand.feature))
                case "assign":
                    listed["required"].append((demand.of, demand.feature))
                case "pair":
                    listed["pairs"].append(tuple(sorted([demand.of or 0, demand.other or 0])))
                case "n_select" | "n_per_class":
                    numbers[demand.kind] = int(demand.value or 0)
                case "bias" | "redundancy":
                    numbers[demand.kind] = float(demand.value or 0.0)
        known: dict[str, Any] = {key: tuple(dict.fromkeys(of)) for key, of in listed.items()}
        return cls(**numbers, **known)

    def instance(self, base: Instance, *, bare: bool = False) -> Instance:
        """Return the instance that is wanted in place of another one.

        Below which redundancy counts as none stays as it was.

        Parameters
        ----------
        base
            The first one.
        bare
            Whether redundancy is left out: whether there is a solution at all is seen without.
        """
        n_features = base.n_features
        redundancy = sparse.csr_array((n_features, n_features)) if bare else base.R
        listed = {key: getattr(self, key) for key in ("forbidden", "required", "pairs")}
        # Those that are empty are left out.
        extra: dict[str, Any] = {key: value for key, value in listed.items() if value}
        return Instance(
            base.A * (base.n_per_class / self.n_per_class),
            redundancy if bare or self.redundancy == 1.0 else redundancy * self.redundancy,
            base.b * self.bias,
            self.n_select,
            self.n_per_class,
            include=self.include,
            exclude=self.exclude,
            hint=base.hint,
            class_names=base.class_names,
            name=base.name,
            **extra,
        )


def names_of(demands: Iterable[Demand]) -> dict[int, str]:
    """Return the names that demands give to features; an empty one takes a name away."""
    named = (demand for demand in demands if demand.kind == "rename")
    return {int(demand.feature or 0): demand.name or "" for demand in named}


def conflict(demands: Sequence[Demand], fails: Callable[[Sequence[Demand]], bool]) -> list[int]:
    """Return the places of a smallest set of demands that cannot hold together.

    Each demand is left out in turn, and stays out where the others still fail.

    Parameters
    ----------
    demands
        What does not hold together.
    fails
        Whether some of the demands do not.
    """
    kept = list(range(len(demands)))
    for place in range(len(demands)):
        without = [other for other in kept if other != place]
        if fails([demands[other] for other in without]):
            kept = without
    return kept


def impossible(base: Instance, demands: Sequence[Demand]) -> str:
    """Return why an instance with these demands cannot be made, or an empty text."""
    try:
        Wishes.of(base, demands).instance(base, bare=True)
    except QpoptError as error:
        return str(error)
    return ""


def _check_value(kind: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in ("n_select", "n_per_class"):
        if not number or not 1 <= value <= MOST_COUNT or int(value) != value:
            raise ModelError(f"{kind} must be a whole number of at least 1, not {shown(value)}.")
    elif not number or not 0 <= value <= MOST_WEIGHT:
        raise ModelError(f"A weight is a number from 0 to {MOST_WEIGHT:g}, not {shown(value)}.")


def _tidy(name: str) -> str:
    """Return a name on one line, without what cannot be seen."""
    seen = "".join(mark if mark.isprintable() else " " for mark in name)
    return " ".join(seen.split())[:NAME_LENGTH]


def class_sets(selection: Sequence[int], assignment: Any) -> list[list[int]]:
    """Return the features of every class, by their indices in the dense model."""
    chosen = np.asarray(selection)
    return [chosen[np.asarray(row, dtype=bool)].tolist() for row in assignment]
