"""Solution: what a solve returns, with its proof of quality and its history."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidFile, InvalidSolution
from qpopt.io.archive import opened_json, save_json
from qpopt.io.atomic import AnyPath
from qpopt.io.json_values import freeze, plain
from qpopt.problem import validation
from qpopt.problem.instance import Instance
from qpopt.problem.tolerances import relative_gap


class Status(str, Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NO_SOLUTION = "no_solution"
    INTERRUPTED = "interrupted"

    def __str__(self) -> str:
        return self.value


class TracePoint(NamedTuple):
    """What was known at one moment of a solve."""

    seconds: float
    objective: float | None
    bound: float | None

    @property
    def gap(self) -> float | None:
        """(bound − objective) / max(|objective|, 1e-10), or None where either is missing."""
        if self.objective is None or self.bound is None:
            return None
        return relative_gap(self.bound, self.objective)


class Candidate(NamedTuple):
    """A feasible solution: rising features, and classes × selected features; see `Assigned`."""

    selection: NDArray[np.int64]
    assignment: validation.Assigned


@dataclass(frozen=True, eq=False)
class Solution:
    """A selection of features and their assignment to the classes.

    Parameters
    ----------
    selection
        Sorted indices of the selected features; None when no solution was found.
    assignment
        Boolean classes × n_select, its columns in the order of `selection`; int8 where it has
        negatives, which are −1. None likewise.
    objective
        The value of Z; None likewise.
    status
        How the solve ended.
    bound
        A proven upper bound on the Z of every solution, or None where nothing is proven.
    method, solver
        What found the solution.
    seconds
        Wall time of the solve.
    seed
        The seed that the solve was given.
    trace
        Objective and bound over time.
    fingerprint
        The fingerprint of the instance that was solved.
    details
        Whatever else the method reports: anything that JSON can hold.

    Raises
    ------
    InvalidSolution
        If the parts do not fit together. Whether they solve an instance is for `verify` to say.

    Examples
    --------
    >>> import qpopt
    >>> solution = qpopt.Solution([0, 2, 3], [[1, 0, 1], [1, 1, 0], [0, 1, 1]], 36.0)
    >>> solution.class_sets()
    [(0, 3), (0, 2), (2, 3)]
    """

    selection: NDArray[np.int64] | None
    assignment: validation.Assigned | None
    objective: float | None
    status: Status = Status.FEASIBLE
    bound: float | None = None
    method: str = ""
    solver: str = ""
    seconds: float = 0.0
    seed: int | None = None
    trace: Sequence[TracePoint] = ()
    fingerprint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "status", Status(self.status))
        except ValueError:
            known = ", ".join(status.value for status in Status)
            raise InvalidSolution(f"Status {self.status!r} is none of {known}.") from None
        missing = [self.selection is None, self.assignment is None, self.objective is None]
        if any(missing) and not all(missing):
            raise InvalidSolution("Selection, assignment and objective come together or not.")
        if self.selection is not None:
            self._keep("selection", _features(self.selection))
            self._keep("assignment", _sets(self.assignment, len(self.selection)))
        self._keep("objective", _number("objective", self.objective))
        self._keep("bound", _number("bound", self.bound))
        seconds = validation.number("seconds", self.seconds, least=0.0, error=InvalidSolution)
        self._keep("seconds", seconds)
        for label in ("method", "solver", "fingerprint"):
            if not isinstance(getattr(self, label), str):
                raise InvalidSolution(f"{label} must be text, not {getattr(self, label)!r}.")
        if self.seed is not None:
            validation.whole_number("seed", self.seed, least=-inf, error=InvalidSolution)
            self._keep("seed", int(self.seed))
        self._keep("trace", _points(self.trace))
        self._keep("details", freeze("details", self.details, InvalidSolution))

    def _keep(self, name: str, value: Any) -> None:
        """Set a field of this frozen object; arrays become read-only."""
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return partial(Solution, **{**values, "details": plain(self.details)}), ()

    @property
    def found(self) -> bool:
        """Whether there is a selection and an assignment at all."""
        return self.selection is not None

    @property
    def gap(self) -> float | None:
        """The relative gap between bound and objective, or None where either is missing."""
        return TracePoint(self.seconds, self.objective, self.bound).gap

    def class_sets(self) -> list[tuple[int, ...]]:
        """Return for every class the indices of its features, rising, negatives among them.

        Raises
        ------
        InvalidSolution
            If there is no solution.
        """
        if self.selection is None or self.assignment is None:
            raise InvalidSolution(f"There are no class sets: the solve ended {self.status}.")
        return [tuple(self.selection[row != 0].tolist()) for row in self.assignment]

    def absent_sets(self) -> list[tuple[int, ...]]:
        """Return for every class the features that count by their absence, mostly none."""
        signs = np.asarray(() if self.assignment is None else self.assignment, dtype=np.int8)
        return [tuple(np.asarray(self.selection)[row < 0].tolist()) for row in signs]

    def summary(self, instance: Instance | None = None) -> str:
        """Describe the solution in a few lines; with its instance, also the parts of Z."""
        lines = [f"status     {self.status}"]
        lines += [f"conflict   {words}" for words in self.details.get("conflict", ())]
        if self.objective is not None:
            lines.append(f"objective  {self.objective:.6g}")
        if instance is not None and self.selection is not None:
            parts = instance.objective(self.selection, self.assignment)
            lines.append(
                f"           similarity {parts.similarity:.6g} − redundancy {parts.redundancy:.6g}"
                f" + bias {parts.bias:.6g}"
            )
        lines.append(f"bound      {'none' if self.bound is None else f'{self.bound:.6g}'}")
        if self.gap is not None:
            lines.append(f"gap        {100 * self.gap:.3f} %")
        how = " with ".join(part for part in (self.method, self.solver) if part)
        lines.append(f"found      {f'by {how} ' if how else ''}in {self.seconds:.2f} s")
        if self.selection is not None:
            lines.append(f"selection  {' '.join(map(str, self.selection.tolist()))}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return the solution as values that JSON can hold, the way `save` writes them."""
        values = {name: getattr(self, name) for name in VALUES}
        sets: dict[str, Any] = {
            "selection": None if self.selection is None else self.selection.tolist(),
            "class_sets": self.class_sets() if self.found else None,
        }
        if any(absent := self.absent_sets()):
            sets["absent_sets"] = absent
        return plain({**values, **sets})

    def save(self, path: AnyPath) -> None:
        """Write the solution as readable JSON that lists the features of every class."""
        save_json(path, "solution", self.to_dict())

    @classmethod
    def load(cls, path: AnyPath) -> Solution:
        """Read a solution that `save` wrote.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged, not a solution, or of a newer format.
        """
        with opened_json(path, "solution") as record:
            selection, assignment = _read_sets(path, record)
            return cls(selection, assignment, **{name: record[name] for name in VALUES})


VALUES = tuple(field.name for field in fields(Solution))[2:]
"""All that a solution holds beside its selection and assignment."""


def _features(values: Any) -> NDArray[np.int64]:
    selection = np.array(values)
    if selection.ndim != 1 or selection.dtype.kind not in "iu":
        raise InvalidSolution("A selection is a list of feature indices.")
    if selection.size and int(selection.max()) > np.iinfo(np.int64).max:
        raise InvalidSolution("A feature index of the selection is too large.")
    selection = selection.astype(np.int64)
    if (np.diff(selection) <= 0).any():
        raise InvalidSolution("The feature indices of a selection must rise strictly.")
    return selection


def _sets(values: Any, n_selected: int) -> validation.Assigned:
    try:
        assignment = np.array(values)
    except ValueError:
        raise InvalidSolution("The rows of an assignment must be of the same length.") from None
    if assignment.ndim != 2 or assignment.shape[1] != n_selected:
        raise InvalidSolution(
            f"The assignment has the shape {assignment.shape}; it needs one column for each "
            f"of the {n_selected} selected features."
        )
    return validation.signs("An assignment", assignment, InvalidSolution)


def _number(label: str, value: Any) -> float | None:
    if value is None:
        return None
    # Data has a largest size; what it adds up to may be beyond that.
    return validation.number(label, value, most=sys.float_info.max, error=InvalidSolution)


def _points(points: Any) -> tuple[TracePoint, ...]:
    try:
        trace = [TracePoint(*point) for point in points]
    except TypeError:
        raise InvalidSolution("A trace holds triples of seconds, objective and bound.") from None
    return tuple(TracePoint._make(_number("a value of the trace", v) for v in p) for p in trace)


def _read_sets(
    path: AnyPath, record: Mapping[str, Any]
) -> tuple[NDArray[np.int64] | None, validation.Assigned | None]:
    """Turn the lists of a file into arrays; nothing is rounded, sorted or left out on the way."""
    selection, class_sets = record["selection"], record["class_sets"]
    absent_sets = record.get("absent_sets", ())
    if selection is None:
        return None, None
    for features in (selection, *class_sets, *absent_sets):
        if any(type(d) is not int for d in features) or len(set(features)) < len(features):
            raise InvalidFile(f"{path} is damaged: {features!r} is no set of features.")
    if absent_sets and not all(map(set.issuperset, map(set, class_sets), absent_sets)):
        raise InvalidFile(f"{path} is damaged: absent_sets are no parts of class_sets.")
    assignment = np.zeros((len(class_sets), len(selection)), dtype=np.int8)
    column = {d: j for j, d in enumerate(selection)}
    for sign, sets in ((1, class_sets), (-1, absent_sets)):
        for c, features in enumerate(sets):
            assignment[c, [column[d] for d in features]] = sign
    return np.array(selection, dtype=np.int64), validation.signs("An assignment", assignment)
