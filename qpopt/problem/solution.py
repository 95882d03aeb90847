"""Solution: what a solve returns, with its proof of quality and its history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidSolution
from qpopt.io.json_values import freeze, plain_value
from qpopt.problem.instance import Instance

OPTIMAL_GAP = 1e-3
"""The largest gap at which a solution may be called optimal."""
LARGEST = 1e300
"""Numbers from here on are no values of an objective."""


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


@dataclass(frozen=True, eq=False)
class Solution:
    """A selection of features and their assignment to the classes.

    Parameters
    ----------
    selection
        Sorted indices of the selected features; None when no solution was found.
    assignment
        Boolean classes × n_select, its columns in the order of `selection`; None likewise.
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
    """

    selection: NDArray[np.int64] | None
    assignment: NDArray[np.bool_] | None
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
            self._keep("selection", _checked_selection(self.selection))
            self._keep("assignment", _checked_assignment(self.assignment, len(self.selection)))
        self._keep("objective", _optional_number("objective", self.objective))
        self._keep("bound", _optional_number("bound", self.bound))
        seconds = _optional_number("seconds", self.seconds)
        if seconds is None or seconds < 0:
            raise InvalidSolution(f"seconds must be at least 0, not {self.seconds!r}.")
        self._keep("seconds", seconds)
        for label in ("method", "solver", "fingerprint"):
            if not isinstance(getattr(self, label), str):
                raise InvalidSolution(f"{label} must be text, not {getattr(self, label)!r}.")
        if self.seed is not None:
            self._keep("seed", _checked_seed(self.seed))
        self._keep("trace", _checked_trace(self.trace))
        try:
            self._keep("details", freeze(self.details))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidSolution(f"details must be what JSON can hold: {error}.") from None

    def _keep(self, name: str, value: Any) -> None:
        """Set a field of this frozen object; arrays become read-only."""
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
            for mine, theirs in (
                (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["details"] = json.loads(json.dumps(self.details, default=plain_value))
        return partial(Solution, **values), ()

    @property
    def found(self) -> bool:
        """Whether there is a selection and an assignment at all."""
        return self.selection is not None

    @property
    def gap(self) -> float | None:
        """(bound − objective) / max(|objective|, 1e-10), or None where either is missing."""
        if self.objective is None or self.bound is None:
            return None
        return (self.bound - self.objective) / max(abs(self.objective), 1e-10)

    def class_sets(self) -> list[tuple[int, ...]]:
        """Return for every class the indices of its features, rising.

        Raises
        ------
        InvalidSolution
            If there is no solution.
        """
        if self.selection is None or self.assignment is None:
            raise InvalidSolution(f"There are no class sets: the solve ended {self.status}.")
        return [tuple(self.selection[row].tolist()) for row in self.assignment]

    def summary(self, instance: Instance | None = None) -> str:
        """Describe the solution in a few lines; with its instance, also the parts of Z."""
        lines = [f"status     {self.status}"]
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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the solution as JSON; see `qpopt.io.archive` for the format."""
        from qpopt.io.archive import save_solution

        save_solution(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Solution:
        """Read a solution that `save` wrote.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged, not a solution, or of a newer format.
        """
        from qpopt.io.archive import load_solution

        return load_solution(path)


def _checked_selection(values: Any) -> NDArray[np.int64]:
    selection = np.array(values)
    if selection.ndim != 1 or selection.dtype.kind not in "iu":
        raise InvalidSolution("A selection is a list of feature indices.")
    if selection.size and int(selection.max()) > np.iinfo(np.int64).max:
        raise InvalidSolution("A feature index of the selection is too large.")
    selection = selection.astype(np.int64)
    if (np.diff(selection) <= 0).any():
        raise InvalidSolution("The feature indices of a selection must rise strictly.")
    return selection


def _checked_assignment(values: Any, n_selected: int) -> NDArray[np.bool_]:
    try:
        assignment = np.array(values)
    except ValueError:
        raise InvalidSolution("The rows of an assignment must be of the same length.") from None
    if assignment.ndim != 2 or assignment.shape[1] != n_selected:
        raise InvalidSolution(
            f"The assignment has the shape {assignment.shape}; it needs one column for each "
            f"of the {n_selected} selected features."
        )
    if assignment.dtype != bool and not np.isin(assignment, (0, 1)).all():
        raise InvalidSolution("An assignment holds only 0 and 1.")
    return assignment.astype(bool)


def _optional_number(label: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidSolution(f"{label} must be a number, not {value!r}.")
    if not abs(value) < LARGEST:
        raise InvalidSolution(f"{label} must be a finite number, not {value!r}.")
    return float(value)


def _checked_seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidSolution(f"seed must be a whole number, not {value!r}.")
    return int(value)


def _checked_trace(points: Any) -> tuple[TracePoint, ...]:
    try:
        trace = tuple(TracePoint(*point) for point in points)
    except TypeError:
        raise InvalidSolution("A trace holds triples of seconds, objective and bound.") from None
    return tuple(
        TracePoint(*(_optional_number("a value of the trace", value) for value in point))  # type: ignore[arg-type]
        for point in trace
    )
