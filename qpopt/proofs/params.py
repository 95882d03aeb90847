"""ProofParams: the numbers that a researcher may tune in a proof."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from qpopt.errors import InvalidArgument, InvalidFile
from qpopt.problem import validation
from qpopt.relaxations.semidefinite import SemidefiniteParams
from qpopt.search.enumeration import MOST_SELECTIONS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


Params = TypeVar("Params", "RootParams", "ProofParams")


class Share(NamedTuple):
    """A part of the time that is left, and the most seconds that this may be."""

    part: float
    most: float


class Patience(NamedTuple):
    """When a bound counts as standing still: over so many rounds it gains no more than this.

    The gain is relative to the bound.
    """

    rounds: int
    gain: float

    def ends(self, values: Sequence[float]) -> bool:
        """Tell whether values, one a round, stand still; while one is infinite they do not."""
        if len(values) <= self.rounds:
            return False
        gain = values[-1 - self.rounds] - min(values[-self.rounds :], default=-inf)
        return gain <= self.gain * abs(values[-1])


def _check(params: ProofParams | RootParams) -> None:
    """Check every field by the type of its default; lists of a TOML file become tuples."""
    for one in fields(params):
        value, default = getattr(params, one.name), one.default
        if isinstance(default, Share | Patience):
            if not isinstance(value, list | tuple) or len(value) != 2:
                names = " and ".join(default._fields)
                raise InvalidArgument(f"{one.name} must be {names}, not {value!r}.")
            first, second = (validation.number(one.name, v, least=0.0) for v in value)
            kind = type(default)
            pair = kind(first, second) if kind is Share else kind(int(first), second)
            object.__setattr__(params, one.name, pair)
        elif isinstance(default, int):
            validation.whole_number(one.name, value)
        elif isinstance(default, float):
            validation.number(one.name, value, least=0.0)


class Stage(NamedTuple):
    """A candidate set on the way to all features.

    Parameters
    ----------
    size
        How many times larger than the first one it is.
    rounds
        How many rounds it gets at least.
    share
        The part of the time that is left which it gets for more rounds, with cuts; 0 for none.
    """

    size: float
    rounds: int
    share: float


@dataclass(frozen=True)
class RootParams:
    """How the root bound comes from few features to all.

    Parameters
    ----------
    first, first_per_selected
        The first candidate set has so many features, and so many more for every one to select.
    stages
        The candidate sets; those that would hold most features are left out.
    worth_a_stage
        How many times its size the whole must have: a set that holds most features saves nothing.
    most_seconds
        Of a stage, where there is no time limit to share.
    standstill
        When the estimate of a stage stands still.
    work_per_round, least_steps
        Steps times features between two looks for better cuts, and the least steps; they are never
        more than those that the relaxation makes by itself.
    many_classes
        With more classes, thresholds cost about as much as steps and are renewed less often.
    worth_proving
        Relative improvement of the estimate for which the rigorous value is computed.
    share_of_proofs
        The share of the time that computing it may take, but for the first and the last one.
    worth_removing
        Share of the free features that must go at once: every removal costs a step of the proof.
    semidefinite
        What tunes the relaxation.
    """

    first: int = 200
    first_per_selected: float = 2.0
    stages: tuple[Stage, ...] = (
        Stage(1.0, 4, 0.0), Stage(1.5, 2, 0.0), Stage(2.0, 4, 0.1), Stage(4.0, 1, 0.2),
    )  # fmt: skip
    worth_a_stage: float = 1.4
    most_seconds: float = 60.0
    standstill: Patience = Patience(4, 5e-4)
    work_per_round: int = 15_000
    least_steps: int = 5
    many_classes: int = 400
    worth_proving: float = 1e-4
    share_of_proofs: float = 0.1
    worth_removing: float = 0.03
    semidefinite: SemidefiniteParams = SemidefiniteParams()

    def __post_init__(self) -> None:
        try:
            stages = tuple(
                Stage(float(size), int(rounds), float(share)) for size, rounds, share in self.stages
            )
        except (TypeError, ValueError):
            raise InvalidArgument(
                f"stages must be lists of a size, rounds and a share, not {self.stages!r}."
            ) from None
        object.__setattr__(self, "stages", stages)
        _check(self)


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
    linear, linear_alone
        The linear relaxation where there is redundancy, of which it knows nothing, and where
        there is none: then it is nearly all there is to gain.
    solver, solver_after_bounds
        The MIP solver, before and after the root bound.
    most_variables
        Larger compact models are not closed before branching on semidefinite bounds closes them.
    branch_below
        With fewer free features, branching pays as soon as the root bound hardly improves.
    core
        Where more are free, the selections of fewer features are worked on first, but never of
        fewer than this.
    largest_core, lowest_level
        They are the selections of so large a share of the features at the most, or of those alone
        whose bounds are above this share of the gap: all others can wait.
    worth_taking_apart
        Share of the gap by which the bounds of all that wait must be better than the root's.
    before_branching, most_patience
        When the root bound stands still; the rounds are doubled while taking apart does not pay, up
        to the most, where nothing but branching will help.
    to_the_end
        The same where no branching follows.
    seconds_between_saves
        How often a checkpoint is written.
    certificate_megabytes
        The most that the proof takes for a certificate: what does not fit in is not certified.
    root
        What tunes the root bound.

    Raises
    ------
    InvalidArgument
        If a number is below 0.
    """

    search: Share = Share(0.1, 30.0)
    search_patience: float = 3.0
    quick_search: float = 0.05
    short_search: float = 0.5
    most_selections: int = MOST_SELECTIONS
    enumeration: Share = Share(0.1, 5.0)
    enumeration_after_bounds: Share = Share(0.3, 60.0)
    linear: Share = Share(0.01, 2.0)
    linear_alone: Share = Share(0.5, 300.0)
    solver: Share = Share(0.1, 5.0)
    solver_after_bounds: Share = Share(0.2, 60.0)
    most_variables: int = 4000
    branch_below: int = 400
    core: int = 300
    largest_core: float = 0.6
    lowest_level: float = 0.5
    worth_taking_apart: float = 0.1
    before_branching: Patience = Patience(6, 2e-4)
    most_patience: int = 50
    to_the_end: Patience = Patience(12, 1e-6)
    seconds_between_saves: float = 60.0
    certificate_megabytes: float = 1000.0
    root: RootParams = RootParams()

    def __post_init__(self) -> None:
        _check(self)
        if not isinstance(self.root, RootParams):
            raise InvalidArgument(f"root must be a table of names and values, not {self.root!r}.")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ProofParams:
        """Return the params with some values changed, by name.

        Raises
        ------
        InvalidArgument
            If a name is unknown or a value out of range.
        """
        values = dict(values)
        root = values.get("root")
        if isinstance(root, Mapping):
            values["root"] = _named(RootParams, root)
        return _named(cls, values)

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


def _named(kind: type[Params], values: Mapping[str, Any]) -> Params:
    known = [one.name for one in fields(kind)]
    for name in values:
        if name not in known:
            raise InvalidArgument(
                f"There is no proof parameter {name!r}; known are {', '.join(known)}."
            )
    return kind(**values)
