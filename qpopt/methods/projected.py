"""The projected method: search for solutions, bounds and branching for the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import inf
from os import PathLike
from typing import Any
from warnings import warn

from qpopt.control.incumbent import Incumbent
from qpopt.errors import InvalidArgument, InvalidFile
from qpopt.io.atomic import check_writable
from qpopt.methods.base import Method, Options, option
from qpopt.methods.compact import run_compact
from qpopt.problem import validation
from qpopt.problem.subproblem import subproblem
from qpopt.proofs.certificate import Certificate
from qpopt.proofs.checkpoint import Checkpoint
from qpopt.proofs.distributed.connection import connect
from qpopt.proofs.driver import Proof
from qpopt.proofs.handover import Finish
from qpopt.proofs.params import ProofParams
from qpopt.proofs.phases import Branch, Enumeration, Handover, Linear, Root, Search
from qpopt.search.enumeration import n_selections
from qpopt.solvers.base import Solver
from qpopt.solvers.registry import find_solver
from qpopt.verification.certificate_check import End
from qpopt.verification.enumeration_check import MOST_SELECTIONS

SOLVER = "highs"
"""Gets what is left where that is small: it is always there."""


def _params(given: Any) -> ProofParams:
    if isinstance(given, ProofParams):
        return given
    if isinstance(given, Mapping):
        return ProofParams.of(given)
    return ProofParams.from_file(validation.path("params", given))


def _writable(label: str, value: Any) -> None:
    check_writable(validation.path(label, value))


def _address(label: str, value: Any) -> None:
    if not isinstance(value, str) or "://" not in value:
        raise InvalidArgument(f"{label} must be an address as tcp://HOST:8786, not {value!r}.")


@dataclass(frozen=True)
class ProjectedOptions(Options):
    """Options of the method `projected`."""

    search_seconds: float | None = option(
        None,
        partial(validation.number, least=0.0),
        "Length of the search before the proof; by default a tenth of the time limit, 30 at the "
        "most, and less where it no longer improves.",
    )
    enumerate: bool = option(
        True,
        validation.yes_or_no,
        "False to leave the proof to bounds and branching alone, even where few selections are "
        "left.",
    )
    hand_over: bool = option(
        True,
        validation.yes_or_no,
        "False to leave out HiGHS, which otherwise gets a share of the time where what is left is "
        "small.",
    )
    certificate: str | PathLike[str] | None = option(
        None,
        _writable,
        "A path to save the certificate of the root bound to, and of the whole proof where that "
        "leaves so few selections that a check can look at all of them.",
    )
    checkpoint: str | PathLike[str] | None = option(
        None,
        _writable,
        "A path to save to what is still open, about once a minute and at the end. Where it "
        "exists already, the proof goes on from there. Not together with a certificate, which "
        "has no words for what was decided before.",
    )

    scheduler: str | None = option(
        None,
        _address,
        "The address of a dask scheduler, as tcp://HOST:8786, whose workers branch and bound once "
        "the root bound is done. Not together with a certificate, which does not tell of them.",
    )

    params: ProofParams | str | PathLike[str] | Mapping[str, Any] = option(
        ProofParams(),
        lambda label, value: _params(value),
        "How the proof divides its time: a ProofParams, a mapping of its fields, or a TOML file.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.checkpoint is not None and self.certificate is not None:
            raise InvalidArgument(
                "A proof in several parts has no certificate: give the option checkpoint or the "
                "option certificate, not both."
            )
        if self.scheduler is not None and self.certificate is not None:
            raise InvalidArgument(
                "What workers prove is in no certificate: give the option scheduler or the option "
                "certificate, not both."
            )


def run(incumbent: Incumbent, solver: Solver | None, options: ProjectedOptions) -> None:
    """Search, then prove: linear relaxation, semidefinite root bound, branch and bound."""
    reached = None
    if options.checkpoint is not None:
        reached = Checkpoint.load(options.checkpoint, incumbent.scaling.original)
        reached = None if reached is None else reached.into(incumbent.scaling)
    proof = Proof(incumbent, reached, checkpoint=options.checkpoint, params=_params(options.params))
    with ExitStack() as stack:
        client = None
        if options.scheduler is not None:
            client = stack.enter_context(connect(options.scheduler))
        phases = _phases(proof, options, client, resumed=reached is not None)
        incumbent.run(lambda: proof.run(phases))
    incumbent.details["features_free"] = proof.n_free
    incumbent.details["nodes"] = 0 if proof.tree is None else proof.tree.nodes
    _save(proof, options)


def _phases(
    proof: Proof, options: ProjectedOptions, client: Any, *, resumed: bool
) -> list[Callable[[Proof], None]]:
    """Return what is to be done; where an earlier solve was stopped, from there on."""
    finish: Finish | None = None
    if options.hand_over:
        finish = partial(run_compact, solver=find_solver(SOLVER), quadratic=False)
    certified = options.certificate is not None
    phases: list[Callable[[Proof], None]] = []
    if not resumed:
        phases.append(Search(options.search_seconds, options.enumerate))
        if options.enumerate and not certified:
            phases.append(Enumeration())
        phases.append(Linear())
        if finish is not None and not certified:
            phases.append(Handover(finish))
    if not resumed or len(proof.parts) == 1:
        phases.append(Root(certified))
    return [*phases, Branch(options.enumerate, finish, client)]


def _save(proof: Proof, options: ProjectedOptions) -> None:
    """Write what the options ask for; a full disk then costs the file, not the solution."""
    try:
        if options.checkpoint is not None:
            proof.save()
        if options.certificate is not None:
            certificate = _certificate(proof)
            if certificate is None:
                warn("No certificate was written: the root bound was not reached.", stacklevel=2)
            else:
                certificate = certificate.about(proof.incumbent.scaling)
                certificate.save(options.certificate)
    except InvalidFile as error:
        warn(str(error), stacklevel=2)


def _certificate(proof: Proof) -> Certificate | None:
    """Return the proof of the root bound; where it leaves few selections, the check looks at all.

    Then the certificate holds for all that the solve has proven, by whatever means.
    """
    instance, root = proof.instance, proof.root
    rest = subproblem(instance) if root is None else root.sub
    few = rest.feasible and n_selections(rest) <= MOST_SELECTIONS
    if not few or proof.incumbent.bound == inf:
        return None if root is None else root.certificate()
    steps = () if root is None else root.certificate().steps
    bound = max(proof.incumbent.bound, proof.incumbent.objective)
    return Certificate(
        instance.fingerprint, bound, proof.incumbent.objective, (*steps, End(enumerated=True))
    )


METHOD = Method(
    "projected",
    "search, then semidefinite bounds and branching: exact, also proves at full size",
    exact=True,
    run=run,
    options=ProjectedOptions,
)
