"""Commands that prove bounds and check what was proven."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated

import typer

from qpopt.cli import options, tables
from qpopt.cli.options import console
from qpopt.cli.runner import CHECK_FAILED, INTERRUPTED
from qpopt.control.limits import TIME_LIMIT
from qpopt.errors import InvalidArgument
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution, Status
from qpopt.proofs.bound import Bound
from qpopt.proofs.bound import bound as prove_bound
from qpopt.proofs.certificate import Certificate
from qpopt.proofs.certify import certify as certify_solution
from qpopt.verification.solution_check import verify as verify_solution


def verify(
    file: options.InstanceFile,
    solution: options.SolutionFile,
    certificate: Annotated[
        Path | None, typer.Option(metavar="CERTIFICATE", help="Also check this proof (.npz).")
    ] = None,
) -> None:
    """Check a solution by recomputing what it claims; a bound is checked against a certificate."""
    instance, claimed = Instance.load(file), Solution.load(solution)
    proof = None if certificate is None else Certificate.load(certificate)
    verification = verify_solution(instance, claimed, certificate=proof, progress=True)
    console.print(tables.verification(verification))
    if not verification:
        raise typer.Exit(CHECK_FAILED)


def bound(
    file: options.InstanceFile,
    time_limit: options.TimeLimit = TIME_LIMIT,
    kind: options.BoundKind = None,
    certificate: options.CertificateOut = None,
) -> None:
    """Prove an upper bound on the objective of every solution."""
    chosen = _kind(kind, certificate)
    options.check_outputs(file, certificate)
    found = prove_bound(Instance.load(file), time_limit=time_limit, kind=chosen, progress=True)
    console.print(f"bound {found.value:.6f} ({found.kind}, {found.seconds:.1f} s)")
    _end(found, certificate)


def certify(
    file: options.InstanceFile,
    solution: options.SolutionFile,
    time_limit: options.TimeLimit = TIME_LIMIT,
    kind: options.BoundKind = None,
    out: options.SolutionOut = None,
    certificate: options.CertificateOut = None,
) -> None:
    """Prove how good a solution is, whatever found it."""
    instance = Instance.load(file)
    chosen = _kind(kind, certificate)
    options.check_outputs(file, out, certificate)
    certified, found = certify_solution(
        instance, Solution.load(solution), time_limit=time_limit, kind=chosen, progress=True
    )
    proven = found.certificate.bound if found.certificate is not None else -inf
    if certificate is not None and certified.bound is not None and proven > certified.bound:
        # What is saved beside a proof claims what that proof shows, not what another one might.
        certified = replace(certified, status=Status.FEASIBLE, bound=proven)
    console.print(tables.solution(instance, certified))
    if out is not None:
        certified.save(out)
        console.print(f"saved to {out}")
    _end(found, certificate)


def _kind(kind: str | None, certificate: Path | None) -> str:
    """Return the kind of bound to prove; where a certificate is asked for, one that has it."""
    if certificate is not None and kind == options.NOT_CERTIFIED:
        raise InvalidArgument(f"A bound of the kind {kind} has no certificate; choose another.")
    return kind or "best"


def _end(found: Bound, certificate: Path | None) -> None:
    """Save the proof where that is wanted, and say whether there was an interruption."""
    if certificate is not None and found.certificate is None:
        console.print("there is no certificate to save: the time was too short to begin one")
    elif certificate is not None and found.certificate is not None:
        found.certificate.save(certificate)
        console.print(f"certificate saved to {certificate}")
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)
