"""An independent check of a solution against its instance.

The code here recomputes everything from the definition, with plain loops and exact summation, and
shares nothing with the objective module or any method. A bound cannot be recomputed like this:
without a certificate it is only claimed, and the outcome says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import fsum, inf, ulp
from typing import TYPE_CHECKING

from qpopt.control.events import Event, OnEvent, Phase
from qpopt.control.progress import following
from qpopt.errors import InvalidCertificate
from qpopt.problem.constraints import Average
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution, Status, TracePoint
from qpopt.problem.tolerances import OPTIMAL_GAP, ROUNDING
from qpopt.verification.certificate_check import Checked, checked
from qpopt.verification.demand_check import (
    Classes,
    ClassFeatures,
    Violation,
    class_features,
    demand_violations,
    size_violations,
    terms_of,
)

if TYPE_CHECKING:
    from qpopt.proofs.certificate import Certificate

LEAST_TERM = 1e-280
"""Where all terms are 0, the check of a certificate still rounds up to more than 0."""


@dataclass(frozen=True)
class Verification:
    """The outcome of `verify`: true when nothing is violated.

    Parameters
    ----------
    violations
        Everything that is wrong.
    objective
        Z as recomputed here, or None where that cannot be done.
    bound
        The bound that the solution claims, or None.
    bound_proven
        Whether a certificate was given that proves this bound, and nothing is violated. Otherwise
        all that is known of the bound is that it does not lie below the objective.
    rests_on
        The solvers whose word the bound rests on, where the certificate shows it only if they are
        right; then it is not proven.
    shown
        The bound that the certificate shows by itself, or None without one that can be checked.
    """

    violations: tuple[Violation, ...]
    objective: float | None
    bound: float | None = None
    bound_proven: bool = False
    rests_on: tuple[str, ...] = ()
    shown: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the solution passed every check."""
        return not self.violations

    def __bool__(self) -> bool:
        return self.ok

    @property
    def about_bound(self) -> str:
        """Say what the bound is worth; nothing where there is none."""
        if self.bound is None:
            return ""
        if self.bound_proven:
            return f"the bound {self.bound:.10g} is proven by the certificate"
        if self.rests_on:
            who = " and ".join(self.rests_on)
            return (
                f"the bound {self.bound:.10g} rests on {who}: without that word the certificate "
                f"proves {self.shown:.10g}"
            )
        return f"the bound {self.bound:.10g} is only claimed: no certificate proves it"

    def __str__(self) -> str:
        if self.ok:
            return "; ".join(filter(None, ["verified: no violation", self.about_bound]))
        return "\n".join(f"{code}: {message}" for code, message in self.violations)


def verify(
    instance: Instance,
    solution: Solution,
    *,
    tolerance: float = 1e-6,
    certificate: Certificate | None = None,
    progress: bool | OnEvent = False,
) -> Verification:
    """Check a solution by recomputing what it claims, its bound only where a certificate is given.

    Parameters
    ----------
    instance
        The instance that the solution is said to solve.
    solution
        The solution to check.
    tolerance
        Largest difference, relative to the sum of all absolute terms, that counts as rounding.
    certificate
        A proof of the bound, to be checked as well. Without it a bound, and with it the status
        `optimal`, is taken for what it is: a claim.
    progress
        True shows a live line where there is a terminal; a function is called with every `Event`.

    Returns
    -------
    Verification
        All violations, each with a code: `fingerprint`, `status`, `selection`, `include`,
        `exclude`, `assignment`, `duplicate`, `objective`, `bound`, `trace`, `certificate`, and
        the name of every demand that is broken: `forbidden`, `required`, `classes_per_feature`,
        `pairs`, `max_shared`, `budget`, `negative`.

    Examples
    --------
    >>> import qpopt
    >>> instance = qpopt.generate(12, 6, 5, 2)
    >>> solution = qpopt.solve(instance, method="search", time_limit=1)
    >>> bool(qpopt.verify(instance, solution))
    True
    """
    with following(progress) as on_event:
        if on_event is not None:
            known = TracePoint(0.0, solution.objective, solution.bound)
            on_event(Event(Phase.VERIFY, known, "recomputing what the solution claims"))
        return _checked(instance, solution, tolerance, certificate)


def _checked(
    instance: Instance, solution: Solution, tolerance: float, certificate: Certificate | None
) -> Verification:
    violations = list(_claim_violations(instance, solution))
    objective, size = None, 0.0
    if solution.selection is not None and solution.assignment is not None:
        selected = [int(d) for d in solution.selection]
        classes = class_features(selected, solution.assignment.tolist())
        violations += _selection_violations(instance, selected)
        violations += _assignment_violations(instance, classes)
        violations += demand_violations(instance, selected, classes)
        # Only where all indices exist can Z be computed.
        known = all(0 <= d < instance.n_features for d in selected)
        if known and len(classes) == instance.n_classes:
            terms = terms_of(instance, selected, classes)
            objective, size = fsum(terms), fsum(map(abs, terms))
            violations += _value_violations(instance, solution, objective, size, tolerance)
    outcome = Verification(tuple(violations), objective, solution.bound)
    if certificate is None:
        return outcome
    try:
        found = checked(instance, certificate)
    except InvalidCertificate as error:
        wrong = Violation("certificate", str(error))
        return replace(outcome, violations=(*violations, wrong))
    bound = solution.bound or 0.0
    # Where the terms of a solution are 0, others need not be, and the check rounds beside them.
    slack = tolerance * max(size, abs(bound))
    slack += ROUNDING * (_largest_terms(instance) or LEAST_TERM)
    violations += _certificate_violations(solution, certificate, found, objective, slack)
    proven = solution.bound is not None and found.proven <= solution.bound + slack
    return replace(
        outcome,
        violations=tuple(violations),
        bound_proven=proven and not violations,
        rests_on=() if proven or violations else found.solvers,
        shown=found.proven,
    )


def _certificate_violations(
    solution: Solution,
    certificate: Certificate,
    found: Checked,
    objective: float | None,
    slack: float,
) -> Iterator[Violation]:
    """Check that a certificate shows the bound, with no better objective than this solution's."""
    if certificate.objective > -inf and (
        objective is None or certificate.objective > objective + slack
    ):
        message = f"the certificate builds on an objective of {certificate.objective!r}."
        yield Violation("certificate", message)
    if solution.bound is None or not found.claimed <= solution.bound + slack:
        message = (
            f"the certificate proves {found.proven!r}; the bound is said to be {solution.bound!r}."
        )
        yield Violation("certificate", message)


def _claim_violations(instance: Instance, solution: Solution) -> Iterator[Violation]:
    """Check which instance the solution says that it is of, and how it says that it ended."""
    if solution.fingerprint != instance.fingerprint:
        yield Violation(
            "fingerprint",
            f"the solution is for instance {solution.fingerprint[:12] or '(none)'}…, "
            f"this one is {instance.fingerprint[:12]}….",
        )
    status = solution.status
    for wrong, what in (
        (status in ("optimal", "feasible") and not solution.found, "there is no solution"),
        (status == "no_solution" and solution.found, "there is a solution"),
        (status == "infeasible" and solution.found, "there is a solution"),
        (status == "infeasible" and not instance.demands, "every such instance has a solution"),
        (status == "optimal" and solution.bound is None, "there is no bound"),
    ):
        if wrong:
            yield Violation("status", f"the status is {status}, but {what}.")


def _selection_violations(instance: Instance, selected: list[int]) -> Iterator[Violation]:
    if len(selected) != instance.n_select:
        message = f"{len(selected)} features are selected instead of {instance.n_select}."
        yield Violation("selection", message)
    for d in selected:
        if not 0 <= d < instance.n_features:
            yield Violation("selection", f"feature {d} does not exist.")
        if d in instance.exclude:
            yield Violation("exclude", f"feature {d} must not be selected and is.")
    for d in instance.include:
        if d not in selected:
            yield Violation("include", f"feature {d} must be selected and is not.")


def _assignment_violations(instance: Instance, classes: Classes) -> Iterator[Violation]:
    if len(classes) != instance.n_classes:
        message = f"the assignment has {len(classes)} classes instead of {instance.n_classes}."
        yield Violation("assignment", message)
    yield from size_violations(instance, classes)
    first_with: dict[ClassFeatures, int] = {}
    for c, features in enumerate(classes):
        other = first_with.setdefault(features, c)
        if other != c:
            yield Violation("duplicate", f"classes {other} and {c} have the same features.")


def _value_violations(
    instance: Instance, solution: Solution, objective: float, size: float, tolerance: float
) -> Iterator[Violation]:
    """Check every claim on objective and bound; `size` is the sum of all absolute terms."""
    claimed, bound, slack = solution.objective, solution.bound, tolerance * size
    if claimed is None or abs(claimed - objective) > slack:
        message = f"the objective is said to be {claimed!r}; it is {objective!r}."
        yield Violation("objective", message)
    if bound is not None and bound < objective - slack:
        yield Violation("bound", f"the bound {bound!r} lies below the objective {objective!r}.")
    last = 0.0
    for point in solution.trace:
        too_good = point.objective is not None and point.objective > objective + slack
        too_low = point.bound is not None and point.bound < objective - slack
        if too_good or too_low or point.seconds < last:
            message = f"the point {tuple(point)} does not fit the objective {objective!r}."
            yield Violation("trace", message)
        last = point.seconds
    # Solvers prove optimality up to what is rounding beside the largest terms as well.
    largest = _largest_terms(instance)
    # A bound is rounded up, which near 0 is much.
    allowed = OPTIMAL_GAP * abs(objective) + 10 * tolerance * max(size, largest) + ulp(objective)
    if solution.status is Status.OPTIMAL and (bound or 0.0) > objective + allowed:
        yield Violation("status", f"the status is optimal, but the bound is {bound!r}.")


def _largest_terms(instance: Instance) -> float:
    """Return what the terms of Z add up to at the most; what is excluded makes no term."""
    allowed = [d for d in range(instance.n_features) if d not in instance.exclude]
    rows = instance.A[:, allowed].tolist()
    budget = instance.demands.budget
    sizes = [instance.n_per_class] * instance.n_classes
    if isinstance(budget, Average):
        sizes = [budget.most or instance.n_select] * instance.n_classes
    elif budget is not None:
        sizes = list(budget)
    each = zip(sizes, rows, strict=True)
    largest = fsum(size * max(map(abs, row)) for size, row in each)
    if instance.demands.negative is not None:
        largest *= max(1.0, instance.demands.negative[1])
    largest += instance.n_select * max(map(abs, instance.b[allowed].tolist()))
    # Where there is no other term, those of redundancy are what is large.
    pairs = instance.R[allowed][:, allowed].tolist()
    return largest or instance.n_select**2 * float(max(map(max, pairs)))
