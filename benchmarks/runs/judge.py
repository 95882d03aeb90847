"""From an outcome to a row: nothing that a run claims is believed."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from datetime import datetime, timezone
from functools import cache
from math import isfinite
from pathlib import Path
from subprocess import run
from typing import Any

from benchmarks.library.entries import Entry
from benchmarks.library.library import ROOT
from benchmarks.runs.execute import Outcome
from benchmarks.runs.measures import gap_to_best, primal_integral
from benchmarks.runs.rows import Row
from benchmarks.runs.specs import RunSpec
from qpopt import Certificate, Instance, QpoptError, Solution, Status, check_certificate, verify
from qpopt.problem.tolerances import outward

FAILURES = ("crash", "timeout", "memory")


def judge(spec: RunSpec, entry: Entry, instance: Instance, outcome: Outcome) -> Row:
    """Verify what a run left behind and make a row of it.

    Parameters
    ----------
    spec
        The run.
    entry
        What is known of the instance.
    instance
        The instance, made by the judge and not by the run.
    outcome
        What came of the run.

    Returns
    -------
    Row
        Its status is `optimal`, `feasible`, `no_solution`, `infeasible` or `interrupted` where
        the run's own word stood the test, `wrong` where it did not, and otherwise `refused`,
        `error`, `crash`, `timeout` or `memory`.
    """
    solution, problem = _solution(outcome)
    verified: bool | None = None
    objective: float | None = None
    status, message = _ending(outcome)
    if not status and solution is None:
        status, message = "crash", problem
    elif not status and solution is not None:
        verification = verify(instance, solution)
        refuted = _refuted_bound(solution, entry)
        verified = verification.ok and not refuted
        objective = verification.objective if verified else None
        status = str(solution.status) if verified else "wrong"
        message = "" if verified else refuted or str(verification)
        if verified and status == Status.OPTIMAL and not _proves(solution, spec.gap):
            status = str(Status.FEASIBLE)
    bound = solution.bound if solution is not None and verified else None
    bound_verified, doubt = _proven_bound(instance, outcome) if verified else (None, "")
    message = message or doubt
    claims = outcome.claims
    asked = asdict(spec)
    return Row(
        key=spec.key,
        size=entry.size,
        gap_limit=asked.pop("gap"),
        **asked,
        versions=" ".join(f"{k} {v}" for k, v in claims.get("versions", {}).items()),
        status=status,
        claimed_status=str(solution.status) if solution is not None else "",
        claimed_objective=solution.objective if solution is not None else None,
        verified=verified,
        objective=objective,
        bound=bound,
        bound_verified=bound_verified,
        gap=solution.gap if solution is not None and verified else None,
        best_known=entry.objective,
        gap_to_best=gap_to_best(objective, entry.objective),
        load_seconds=_number(claims.get("load_seconds")),
        build_seconds=_number(claims.get("build_seconds")),
        solve_seconds=_number(claims.get("solve_seconds")),
        wall_seconds=outcome.wall_seconds,
        peak_memory=outcome.peak_memory,
        primal_integral=primal_integral(
            _improvements(outcome, objective), entry.objective, spec.time_limit
        ),
        message=message,
        host=outcome.machine.get("host", ""),
        processor=outcome.machine.get("processor", ""),
        system=_system(outcome.machine),
        qpopt_version=str(claims.get("versions", {}).get("qpopt", "")),
        commit=commit(),
        finished=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


@cache
def commit() -> str:
    """Return the commit of this checkout, with a plus sign where files differ from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return head + ("+" if _git("status", "--porcelain", "--", "qpopt", "benchmarks") else "")


def _git(*words: str) -> str:
    """Return what git prints; nothing where there is no git, or no checkout."""
    try:
        return run(
            ["git", "-C", str(ROOT.parent), *words], capture_output=True, text=True
        ).stdout.strip()
    except OSError:
        return ""


def _solution(outcome: Outcome) -> tuple[Solution | None, str]:
    """Read a solution as a file, so that a damaged one is told like any other bad file."""
    if not outcome.solution:
        return None, "The process ended without leaving a solution."
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "solution.json"
        path.write_text(outcome.solution, encoding="utf-8")
        try:
            return Solution.load(path), ""
        except QpoptError as error:
            return None, f"The solution cannot be read: {str(error).replace(str(path), 'the file')}"


def _proven_bound(instance: Instance, outcome: Outcome) -> tuple[float | None, str]:
    """Recompute the bound from the certificate, if there is one; say so where that fails."""
    if not outcome.certificate:
        return None, ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.npz"
        path.write_bytes(outcome.certificate)
        try:
            return check_certificate(instance, Certificate.load(path)), ""
        except QpoptError as error:
            problem = str(error).replace(str(path), "the file")
            return None, f"The certificate proves nothing: {problem}"


def _ending(outcome: Outcome) -> tuple[str, str]:
    """Return status and message of a run that came to no proper end; empty where it did."""
    if outcome.ended in FAILURES:
        return outcome.ended, outcome.log[-300:]
    if outcome.claims.get("error"):
        return str(outcome.claims["error"]), str(outcome.claims.get("message", ""))
    return "", ""


def _refuted_bound(solution: Solution, entry: Entry) -> str:
    """Say so where a bound lies below a solution that is known to exist."""
    if solution.bound is None or entry.objective is None:
        return ""
    if outward(solution.bound) >= entry.objective:
        return ""
    return (
        f"bound: {solution.bound!r} is no bound, for a solution with {entry.objective!r} is known."
    )


def _proves(solution: Solution, gap: float) -> bool:
    """Whether objective and bound are as close as the run was asked to bring them."""
    return solution.gap is not None and solution.gap <= gap + 1e-5


def _improvements(outcome: Outcome, objective: float | None) -> list[tuple[float, float]]:
    """Return seconds and objective over the run; none where its result is not verified.

    The points on the way are the run's own word. None of them may exceed the verified result.
    """
    if objective is None:
        return []
    points = [
        (float(point[0]), min(float(point[1]), objective))
        for point in outcome.trace
        if len(point) == 3 and point[0] is not None and point[1] is not None
    ]
    claims = outcome.claims
    ended = (_number(claims.get("build_seconds")) or 0.0) + (
        _number(claims.get("solve_seconds")) or 0.0
    )
    return [*points, (ended, objective)]


def _system(machine: dict[str, str]) -> str:
    parts = [machine.get("system", "")]
    if "cores" in machine:
        parts.append(f"{machine['cores']} cores")
    return ", ".join([*parts, machine.get("memory", "")])


def _number(value: Any) -> float | None:
    usable = isinstance(value, int | float) and isfinite(value)
    return float(value) if usable else None
