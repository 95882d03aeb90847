"""The instances that come with qpopt, with an optimal solution of each, the most telling first.

Those of the benchmarks' classes `tiny` and `small` have been proven by trying every selection; so
have four made for what goes wrong most easily: classes that are all alike, features fixed in and
out against what they bring, an objective below 0, and numbers near 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from qpopt.errors import InvalidArgument
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution

DATA = Path(__file__).parent / "data"

TELLING = (
    "alike-8x3",
    "steered-12x6",
    "negative-10x5",
    "clustered-12x6",
    "uniform-14x8-r30",
    "uniform-12x6",
    "planted-12x6",
    "attributes-12x6",
    "uniform-24x8-r30",
    "attributes-24x8",
    "planted-14x8",
    "attributes-24x8-r10",
    "faint-12x6",
    "attributes-14x8-r30",
    "clustered-14x8-r30",
    "uniform-32x10",
    "attributes-32x10",
    "planted-32x10",
    "uniform-24x8",
    "planted-24x8",
    "uniform-24x8-r10",
    "attributes-24x8-r30",
    "clustered-32x10",
    "clustered-24x8-r10",
    "clustered-24x8-r30",
    "clustered-24x8",
)
"""All that are bundled: first those where uniqueness, fixed features, signs and units matter, and
that are quick; last those that take models of some thousand variables seconds to prove."""


@dataclass(frozen=True)
class Case:
    """An instance in a file, and an optimal solution of it in another.

    Parameters
    ----------
    name
        What it is called.
    instance_file, best_file
        The two files.
    """

    name: str
    instance_file: Path
    best_file: Path

    @cached_property
    def instance(self) -> Instance:
        """The instance."""
        return Instance.load(self.instance_file)

    @cached_property
    def best(self) -> Solution:
        """An optimal solution."""
        return Solution.load(self.best_file)

    @cached_property
    def optimum(self) -> float:
        """The proven optimum."""
        assert self.best.objective is not None
        return self.best.objective


def bundled(names: Iterable[str] = ()) -> list[Case]:
    """Return the bundled cases, the most telling first, or those named.

    Raises
    ------
    InvalidArgument
        If there is no case of a name.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in TELLING:
            raise InvalidArgument(
                f"There is no bundled instance {name!r}; known are {', '.join(sorted(TELLING))}."
            )
    return [
        Case(name, DATA / f"{name}.npz", DATA / f"{name}.json")
        for name in TELLING
        if not wanted or name in wanted
    ]
