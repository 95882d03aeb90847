"""ProofParams: the numbers that a researcher may tune in a proof."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from qpopt.errors import InvalidArgument, InvalidFile
from qpopt.problem import validation
from qpopt.search.enumeration import MOST_SELECTIONS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Share(NamedTuple):
    """A part of the time that is left, and the most seconds that this may be."""

    part: float
    most: float


@dataclass(frozen=True)
class ProofParams:
    """How a proof divides its time, and when it goes on to the next phase.

    Parameters
    ----------
    search
        The search before the proof: the best solution is mostly found in the first second.
    search_patience
        Seconds without an improvement after which time is better spent on the proof.
    quick_search, short_search
        Seconds of search where there are fewer than 10⁸, and fewer than `most_selections`,
        selections: all of them may be looked at afterwards.
    most_selections
        Parts with more selections are not looked at one by one: pruning leaves too many.
    enumeration, enumeration_after_bounds
        Looking at all selections, before any bound is known, and when it pays to take longer.
    linear
        The linear relaxation where there is redundancy, of which it knows nothing.
    solver, solver_after_bounds
        The MIP solver, before and after the root bound.
    branch_below
        With fewer free features, branching pays as soon as the root bound hardly improves.
    core
        Where more are free, branching begins with the selections of so many features.
    worth_taking_apart
        Share of the gap by which the bounds of all other selections must be better than the root's.
    slow
        Relative improvement of the root bound over `patience` rounds that counts as hardly any.
    patience, most_patience
        Rounds; patience is doubled while taking apart does not pay, up to the most, where nothing
        but branching will help.
    seconds_between_saves
        How often a checkpoint is written.

    Raises
    ------
    InvalidArgument
        If a number is below 0.
    """

    search: Share = Share(0.1, 30.0)
    search_patience: float = 6.0
    quick_search: float = 0.05
    short_search: float = 0.5
    most_selections: int = MOST_SELECTIONS
    enumeration: Share = Share(0.1, 5.0)
    enumeration_after_bounds: Share = Share(0.3, 60.0)
    linear: Share = Share(0.1, 5.0)
    solver: Share = Share(0.1, 5.0)
    solver_after_bounds: Share = Share(0.2, 60.0)
    branch_below: int = 400
    core: int = 300
    worth_taking_apart: float = 0.1
    slow: float = 2e-4
    patience: int = 6
    most_patience: int = 50
    seconds_between_saves: float = 60.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(one.default, Share):
                if not isinstance(value, list | tuple) or len(value) != 2:
                    raise InvalidArgument(f"{one.name} must be a part and seconds, not {value!r}.")
                value = Share(*(validation.number(one.name, v, least=0.0) for v in value))
                object.__setattr__(self, one.name, value)
            elif isinstance(one.default, int):
                validation.whole_number(one.name, value)
            else:
                validation.number(one.name, value, least=0.0)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ProofParams:
        """Return the params with some values changed, by name.

        Raises
        ------
        InvalidArgument
            If a name is unknown or a value out of range.
        """
        known = [one.name for one in fields(cls)]
        for name in values:
            if name not in known:
                raise InvalidArgument(
                    f"There is no proof parameter {name!r}; known are {', '.join(known)}."
                )
        return cls(**values)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> ProofParams:
        """Read a TOML file of names and values; what it does not name keeps its default.

        Raises
        ------
        InvalidFile
            If the file is missing or no TOML; InvalidArgument as for `of`.
        """
        try:
            return cls.of(tomllib.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InvalidFile(f"Cannot read proof parameters from {path}: {error}.") from error
