"""An independent check of a solution against its instance.

The code here recomputes everything from the definition, with plain loops and exact summation, and
shares nothing with the objective module or any method.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, isfinite
from typing import NamedTuple

from qpopt.instance import Instance
from qpopt.solution import Solution, Status


class Violation(NamedTuple):
    """One way in which a solution is wrong: a short code and a sentence."""

    code: str
    message: str


@dataclass(frozen=True)
class Verification:
    """The outcome of `verify`: true when nothing is violated.

    Parameters
    ----------
    violations
        Everything that is wrong.
    objective
        Z as recomputed here, or None where that cannot be done.
    """

    violations: tuple[Violation, ...]
    objective: float | None

    @property
    def ok(self) -> bool:
        """Whether the solution passed every check."""
        return not self.violations

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return "verified: no violation"
        return "\n".join(f"{code}: {message}" for code, message in self.violations)


def verify(instance: Instance, solution: Solution, *, tolerance: float = 1e-6) -> Verification:
    """Check every claim of a solution by recomputing it.

    Parameters
    ----------
    instance
        The instance that the solution is said to solve.
    solution
        The solution to check.
    tolerance
        Largest difference, relative to max(1, |objective|), that counts as rounding.

    Returns
    -------
    Verification
        All violations, each with a code: `fingerprint`, `status`, `selection`, `include`,
        `exclude`, `assignment`, `duplicate`, `objective`, `bound`.
    """
    violations: list[Violation] = []

    def report(code: str, message: str) -> None:
        violations.append(Violation(code, message))

    if solution.fingerprint != instance.fingerprint:
        report(
            "fingerprint",
            f"the solution is for instance {solution.fingerprint[:12] or '(none)'}…, "
            f"this one is {instance.fingerprint[:12]}….",
        )
    for code, message in _status_violations(solution):
        report(code, message)
    objective = None
    if solution.selection is not None and solution.assignment is not None:
        selected = [int(d) for d in solution.selection]
        rows = [[int(j) for j in row.nonzero()[0]] for row in solution.assignment]
        for code, message in _selection_violations(instance, selected):
            report(code, message)
        for code, message in _assignment_violations(instance, rows):
            report(code, message)
        if _fits(instance, selected, rows):
            objective = _objective(instance, selected, rows)
            slack = tolerance * max(1.0, abs(objective))
            for code, message in _value_violations(solution, objective, slack):
                report(code, message)
    return Verification(tuple(violations), objective)


def _status_violations(solution: Solution) -> list[Violation]:
    found = []
    status = solution.status
    if status in (Status.OPTIMAL, Status.FEASIBLE) and not solution.found:
        found.append(Violation("status", f"the status is {status}, but there is no solution."))
    if status in (Status.INFEASIBLE, Status.NO_SOLUTION) and solution.found:
        found.append(Violation("status", f"the status is {status}, but there is a solution."))
    if status is Status.OPTIMAL and solution.bound is None:
        found.append(Violation("status", "the status is optimal, but there is no bound."))
    return found


def _selection_violations(instance: Instance, selected: list[int]) -> list[Violation]:
    found = []
    if len(selected) != instance.n_select:
        message = f"{len(selected)} features are selected instead of {instance.n_select}."
        found.append(Violation("selection", message))
    for d in selected:
        if not 0 <= d < instance.n_features:
            found.append(Violation("selection", f"feature {d} does not exist."))
    found += [
        Violation("include", f"feature {d} must be selected and is not.")
        for d in instance.include
        if d not in selected
    ]
    found += [
        Violation("exclude", f"feature {d} must not be selected and is.")
        for d in instance.exclude
        if d in selected
    ]
    return found


def _assignment_violations(instance: Instance, rows: list[list[int]]) -> list[Violation]:
    found = []
    if len(rows) != instance.n_classes:
        message = f"the assignment has {len(rows)} classes instead of {instance.n_classes}."
        found.append(Violation("assignment", message))
    first_with: dict[tuple[int, ...], int] = {}
    for c, row in enumerate(rows):
        if len(row) != instance.n_per_class:
            message = f"class {c} has {len(row)} features instead of {instance.n_per_class}."
            found.append(Violation("assignment", message))
        other = first_with.setdefault(tuple(row), c)
        if other != c:
            found.append(Violation("duplicate", f"classes {other} and {c} have the same features."))
    return found


def _fits(instance: Instance, selected: list[int], rows: list[list[int]]) -> bool:
    """Whether all indices exist, so that Z can be computed."""
    return len(rows) == instance.n_classes and all(0 <= d < instance.n_features for d in selected)


def _objective(instance: Instance, selected: list[int], rows: list[list[int]]) -> float:
    terms = [float(instance.b[d]) for d in selected]
    for c, row in enumerate(rows):
        terms += [float(instance.A[c, selected[j]]) for j in row]
    for i, d in enumerate(selected):
        terms += [-float(instance.R[d, e]) for e in selected[i + 1 :]]
    return fsum(terms)


def _value_violations(solution: Solution, objective: float, slack: float) -> list[Violation]:
    found = []
    claimed, bound = solution.objective, solution.bound
    if claimed is None or not abs(claimed - objective) <= slack:
        message = f"the objective is said to be {claimed!r}; it is {objective!r}."
        found.append(Violation("objective", message))
    if bound is not None and not (isfinite(bound) and bound >= objective - slack):
        message = f"the bound {bound!r} does not lie above the objective {objective!r}."
        found.append(Violation("bound", message))
    return found
