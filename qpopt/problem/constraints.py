"""Demands: what a person wants beyond the counts, as data; all of it is empty by default."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidArgument, InvalidInstance
from qpopt.problem import validation

Cells = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Average:
    """A budget by its average: all classes together have `n_per_class` features a class.

    Parameters
    ----------
    least, most
        How many features a class has at least and at most; None stands for `n_select`.

    Examples
    --------
    >>> import qpopt
    >>> qpopt.Average(2, 8)
    Average(least=2, most=8)
    """

    least: int = 1
    most: int | None = None

    def __post_init__(self) -> None:
        least = validation.count("least", self.least)
        if self.most is not None and validation.count("most", self.most) < least:
            raise InvalidInstance(f"most is {self.most}, below least = {self.least}.")


class Budgets(NamedTuple):
    """How many features every class has, at least and at most, and all of them together."""

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    total: int

    @property
    def fixed(self) -> bool:
        """Whether the number of every class is given."""
        return bool((self.least == self.most).all())


class DemandArguments(TypedDict, total=False):
    """The arguments that state demands; see `Instance`."""

    forbidden: Iterable[tuple[int, int]]
    required: Iterable[tuple[int, int]]
    classes_per_feature: tuple[int | None, int | None] | None
    pairs: Iterable[tuple[int, int]] | int
    rho: float | None
    max_shared: int | None
    budget: Sequence[int] | Average | Mapping[str, Any] | None
    negative: tuple[int, float] | int | None


ARGUMENTS = tuple(DemandArguments.__annotations__)

EVERY_DEMAND = frozenset(
    [
        *("forbidden", "required", "classes_per_feature", "pairs", "pairs=N"),
        *("max_shared", "budget", "negative"),
    ]
)
"""All demands, by the names in `Demands.stated`."""


@dataclass(frozen=True)
class Demands:
    """What a person wants beyond the counts; false where that is nothing.

    Parameters
    ----------
    forbidden, required
        Pairs (class, feature) that no assignment may, and every assignment must, contain.
    classes_per_feature
        How many classes a selected feature serves, at least and at most.
    pairs
        Pairs c < c' of classes that share all features but one each.
    n_pairs
        How many such pairs there must be, no matter which.
    max_shared
        How many features any two other classes may share.
    budget
        One number per class in place of `n_per_class`, or an `Average`.
    negative
        How many features of a class may count by their absence, and what that is worth.
    """

    forbidden: Cells = ()
    required: Cells = ()
    classes_per_feature: tuple[int, int] | None = None
    pairs: Cells = ()
    n_pairs: int = 0
    max_shared: int | None = None
    budget: tuple[int, ...] | Average | None = None
    negative: tuple[int, float] | None = None

    def __bool__(self) -> bool:
        return bool(self.stated)

    @property
    def stated(self) -> tuple[str, ...]:
        """The demands that are there, by the name of their argument; a number of pairs apart."""
        given = [
            field.name for field in fields(self) if getattr(self, field.name) not in ((), None)
        ]
        names = {"n_pairs": "pairs=N"}
        return tuple(names.get(name, name) for name in given if name != "n_pairs" or self.n_pairs)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make these demands, as values that JSON can hold."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if n_pairs := values.pop("n_pairs"):
            values["pairs"] = n_pairs
        if isinstance(self.budget, Average):
            values["budget"] = {"least": self.budget.least, "most": self.budget.most}
        return {name: value for name, value in values.items() if value not in ((), None)}

    def restricted(self, features: NDArray[np.int64]) -> dict[str, Any]:
        """Return the arguments for an instance that has only these features, rising."""
        place = {d: j for j, d in enumerate(features.tolist())}
        kept = {
            name: tuple((c, place[d]) for c, d in getattr(self, name) if d in place)
            for name in ("forbidden", "required")
        }
        return {name: value for name, value in {**self.arguments(), **kept}.items() if value != ()}

    def __str__(self) -> str:
        said = [f"{len(self.forbidden)} forbidden"] if self.forbidden else []
        said += [f"{len(self.required)} required"] if self.required else []
        if self.classes_per_feature is not None:
            said.append("{} to {} classes per feature".format(*self.classes_per_feature))
        said += [f"{len(self.pairs)} pairs"] if self.pairs else []
        said += [f"at least {self.n_pairs} pairs"] if self.n_pairs else []
        said += [] if self.max_shared is None else [f"at most {self.max_shared} shared"]
        if isinstance(self.budget, Average):
            said.append(f"{self.budget.least} to {self.budget.most or 'any'} on average")
        elif self.budget is not None:
            said.append(f"{min(self.budget)} to {max(self.budget)} by class")
        said += [] if self.negative is None else [f"at most {self.negative[0]} negative"]
        return ", ".join(said)


def refuse(
    demands: Demands,
    who: str,
    takes: Container[str],
    others: Mapping[str, Container[str]] = MappingProxyType({}),
) -> None:
    """Raise where a demand is stated that `who` does not take, naming those `others` that do.

    Raises
    ------
    InvalidArgument
        Naming the demand and who takes it.
    """
    for name in demands.stated:
        if name not in takes:
            able = [who for who, taken in others.items() if all(d in taken for d in demands.stated)]
            hint = f"; take {' or '.join(able)}" if able else ""
            raise InvalidArgument(f"{who} does not take the demand {name}{hint}.")
