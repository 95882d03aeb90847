"""From what a process left behind to a verdict: nothing that it claims is believed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from qpopt.control.limits import GAP
from qpopt.errors import InvalidFile
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import Solution, Status
from qpopt.problem.tolerances import TOLERANCE, outward, relative_gap
from qpopt.proofs.certificate import Certificate
from qpopt.selfcheck.cases import Case
from qpopt.selfcheck.faults import Fault, Finding, worst
from qpopt.selfcheck.pairs import Job
from qpopt.selfcheck.witness import OVERDUE
from qpopt.verification.solution_check import verify

CODES = {
    "selection": Fault.INFEASIBLE_POINT,
    "include": Fault.INFEASIBLE_POINT,
    "exclude": Fault.INFEASIBLE_POINT,
    "assignment": Fault.INFEASIBLE_POINT,
    "duplicate": Fault.INFEASIBLE_POINT,
    "objective": Fault.WRONG_OBJECTIVE,
    "bound": Fault.LOW_BOUND,
    "certificate": Fault.BAD_CERTIFICATE,
}
"""What the violations that `verify` finds are called here; any other is a contradiction."""

AGREED, UNPROVEN, REFUSED, DISAGREED, NOT_RUN = (
    "agreed",
    "unproven",
    "refused",
    "disagreed",
    "not run",
)
"""How a case may end: unproven is what was right but not proven in time, refused what the solver
or its licence does not take."""


@dataclass(frozen=True)
class Verdict:
    """What came of one case with one pair.

    Parameters
    ----------
    case
        The name of the case.
    outcome
        `agreed`, `unproven`, `refused`, `disagreed` or `not run`.
    seconds
        How long the solve took; 0 where it came to no end.
    deviation
        How far the solution is below the optimum, relative to it; None without a solution.
    fault, message
        What is wrong, and a sentence on it; the fault is empty where nothing is.
    kept
        The folder with all that is needed to repeat a disagreement.
    """

    case: str
    outcome: str
    seconds: float = 0.0
    deviation: float | None = None
    fault: str = ""
    message: str = ""
    kept: str = ""


def judge(job: Job, stem: Path, ending: Finding | None = None) -> Verdict:
    """Return the verdict on what a process left of a job.

    Parameters
    ----------
    job
        The job, its case from the files that came with qpopt.
    stem
        What the names of the files begin with that the process left of it.
    ending
        How the process ended, where it did so in the middle of this job.
    """
    pair, case = job.pair, job.case
    if ending is not None:
        return Verdict(case.name, DISAGREED, fault=str(ending.fault), message=ending.message)
    answer = json.loads(Path(f"{stem}.answer.json").read_text(encoding="utf-8"))
    seconds = float(answer["seconds"])
    if answer["refused"]:
        return Verdict(case.name, REFUSED, seconds, message=answer["error"])
    findings = [Finding(Fault(fault), text) for fault, text in answer.get("findings", ())]
    if seconds > answer["time_limit"] + OVERDUE:
        late = f"it took {seconds:.1f} s where it was given {answer['time_limit']:.1f} s."
        findings.append(Finding(Fault.HANG, late))
    solution = None
    if answer["error"]:
        memory = answer["error"].startswith("MemoryError")
        findings.append(Finding(Fault.MEMORY if memory else Fault.ERROR, answer["error"]))
    else:
        try:
            solution = Solution.load(f"{stem}.solution.json")
            findings += _solution_findings(job, solution, stem)
        except InvalidFile as error:
            findings.append(Finding(Fault.ERROR, str(error)))
    deviation = None
    if solution is not None and solution.objective is not None:
        deviation = -relative_gap(solution.objective, case.optimum)
    if findings:
        fault, message = worst(findings)
        return Verdict(case.name, DISAGREED, seconds, deviation, str(fault), message)
    good = solution is not None and (
        solution.status is Status.OPTIMAL if pair.exact else solution.found
    )
    if pair.certified:
        good = good and _certificate(stem).exists()
    return Verdict(case.name, AGREED if good else UNPROVEN, seconds, deviation)


def _certificate(stem: Path) -> Path:
    return Path(f"{stem}.certificate.npz")


def _solution_findings(job: Job, solution: Solution, stem: Path) -> Iterator[Finding]:
    """Verify a solution, with its certificate if it has one, and compare it with the optimum."""
    pair, case = job.pair, job.case
    if pair.certified and _certificate(stem).exists():
        try:
            certificate = Certificate.load(_certificate(stem))
        except InvalidFile as error:
            yield Finding(Fault.BAD_CERTIFICATE, str(error))
        else:
            yield from _certificate_findings(case, solution, certificate)
    verification = verify(case.instance, solution)
    for code, message in verification.violations:
        yield Finding(_fault(code, solution), message)
    size = scaled(case.instance).size
    bound, optimum = solution.bound, case.optimum
    if bound is not None and outward(bound, size) < optimum:
        message = f"the bound is said to be {bound!r}; a solution with {optimum!r} exists."
        yield Finding(Fault.LOW_BOUND, message)
    objective = verification.objective
    if not verification or objective is None:
        return
    slack = TOLERANCE * size
    if objective > optimum + slack:
        message = f"{objective!r} was found; the proven optimum is {optimum!r}."
        yield Finding(Fault.ABOVE_OPTIMUM, message)
    if solution.status is Status.OPTIMAL and objective < optimum - GAP * abs(optimum) - slack:
        message = f"{objective!r} is called optimal; the optimum is {optimum!r}."
        yield Finding(Fault.EARLY_OPTIMAL, message)


def _certificate_findings(
    case: Case, solution: Solution, certificate: Certificate
) -> Iterator[Finding]:
    """Check a certificate, which may prove another bound than the better one of the solution."""
    claim = Solution(
        solution.selection,
        solution.assignment,
        solution.objective,
        bound=certificate.bound,
        fingerprint=solution.fingerprint,
    )
    for code, message in verify(case.instance, claim, certificate=certificate).violations:
        if code == "certificate":
            yield Finding(Fault.BAD_CERTIFICATE, message)
    below = outward(certificate.bound, scaled(case.instance).size) < case.optimum
    if isfinite(certificate.bound) and below:
        message = f"it says to prove {certificate.bound!r}; the optimum is {case.optimum!r}."
        yield Finding(Fault.BAD_CERTIFICATE, message)


def _fault(code: str, solution: Solution) -> Fault:
    if code == "status" and solution.status is Status.OPTIMAL:
        return Fault.EARLY_OPTIMAL
    if code == "status" and solution.status is Status.INFEASIBLE:
        return Fault.CALLED_INFEASIBLE
    return CODES.get(code, Fault.CONTRADICTION)
