"""The projected method: search for solutions, bounds and branching for the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any
from warnings import warn

from qpopt.control.incumbent import Incumbent
from qpopt.errors import InvalidArgument, InvalidFile
from qpopt.io.atomic import check_writable
from qpopt.methods.base import Method, Options, option
from qpopt.methods.compact import run_compact
from qpopt.problem import validation
from qpopt.problem.assigning.best import MOST_CLASSES
from qpopt.problem.constraints import EVERY_DEMAND
from qpopt.problem.tolerances import ROUNDING
from qpopt.proofs.certificate import Certificate
from qpopt.proofs.distributed.connection import connect
from qpopt.proofs.driver import Proof
from qpopt.proofs.handover import SOLVER, Finish
from qpopt.proofs.params import ProofParams
from qpopt.proofs.phases.bounding import Linear, Root
from qpopt.proofs.phases.branching import Branch
from qpopt.proofs.phases.searching import Price, Search
from qpopt.proofs.phases.small_parts import Enumeration, Handover
from qpopt.proofs.record import Record
from qpopt.proofs.resuming.checkpoint import Checkpoint
from qpopt.proofs.resuming.recheck import Rechecked
from qpopt.solvers.base import Solver
from qpopt.solvers.registry import find_solver


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
    hand_over: bool | None = option(
        None,
        validation.yes_or_no,
        "Whether HiGHS gets a share of the time where what is left is small; by default unless a "
        "certificate is asked for, in which what HiGHS decides counts as claimed, not as proven.",
    )
    certificate: str | PathLike[str] | None = option(
        None,
        _writable,
        "A path to save the certificate of the bound to: how the selections were taken apart, and "
        "the proof of each part.",
    )
    checkpoint: str | PathLike[str] | None = option(
        None,
        _writable,
        "A path to save to what is still open, about once a minute and at the end. Where it "
        "exists already, the proof goes on from there: it is checked step by step first, and "
        "what it does not show is proven anew.",
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
        paths = [Path(path).absolute() for path in (self.checkpoint, self.certificate) if path]
        if len(set(paths)) < len(paths):
            raise InvalidArgument("checkpoint and certificate name the same file.")
        if self.scheduler is not None and self.certificate is not None:
            raise InvalidArgument(
                "What workers prove is in no certificate: give the option scheduler or the option "
                "certificate, not both."
            )


def run(incumbent: Incumbent, solver: Solver | None, options: ProjectedOptions) -> None:
    """Search, then prove: linear relaxation, semidefinite root bound, branch and bound."""
    reached = None
    _check_demands(incumbent, options)
    if options.checkpoint is not None:
        reached = Checkpoint.load(options.checkpoint, incumbent.scaling.original)
    proof = Proof(
        incumbent,
        checkpoint=options.checkpoint,
        params=_params(options.params),
        recorded=options.certificate is not None,
    )

    def prove() -> None:
        found = None if reached is None else proof.resume(reached)
        proof.run(_phases(proof, options, client, found))

    with ExitStack() as stack:
        client = None
        if options.scheduler is not None:
            client = stack.enter_context(connect(options.scheduler))
        incumbent.run(prove)
    incumbent.details["features_free"] = proof.n_free
    incumbent.details["nodes"] = 0 if proof.tree is None else proof.tree.nodes
    _save(proof, options)


def _check_demands(incumbent: Incumbent, options: ProjectedOptions) -> None:
    """Raise where a demand cannot be met together with an option."""
    instance = incumbent.instance
    if instance.n_pairs and instance.n_classes > MOST_CLASSES:
        raise InvalidArgument(
            f"The method projected takes pairs = {instance.n_pairs}, a number, with up to "
            f"{MOST_CLASSES} classes, not {instance.n_classes}; use search, or name the pairs."
        )
    for name in ("checkpoint", "scheduler"):
        if instance.demands and getattr(options, name) is not None:
            raise InvalidArgument(
                f"There is no {name} with {' and '.join(instance.demands.stated)} yet; leave out "
                f"the option {name}."
            )


def _phases(
    proof: Proof, options: ProjectedOptions, client: Any, found: Rechecked | None
) -> list[Callable[[Proof], None]]:
    """Return what is to be done; where an earlier solve was stopped, from there on."""
    finish: Finish | None = None
    hand_over = options.hand_over
    if hand_over or (hand_over is None and not proof.recorded):
        finish = partial(run_compact, solver=find_solver(SOLVER.lower()), quadratic=False)
    phases: list[Callable[[Proof], None]] = []
    resumed = found is not None and found.decides
    if not resumed:
        phases += [Search(options.search_seconds, options.enumerate), Price()]
        if options.enumerate:
            phases.append(Enumeration())
        phases.append(Linear())
        if finish is not None:
            phases.append(Handover(finish))
    elif found is not None and found.asked and finish is not None and len(proof.parts) == 1:
        # What the solver said then does not count: it is asked again.
        phases.append(Handover(finish))
    first = max(proof.parts, key=lambda part: part.bound, default=None)
    large = first is not None and len(first.free) > proof.params.branch_below
    if not resumed or len(proof.parts) == 1 or large:
        phases.append(Root())
    return [*phases, Branch(options.enumerate, finish, client)]


def _save(proof: Proof, options: ProjectedOptions) -> None:
    """Write what the options ask for; a full disk then costs the file, not the solution."""
    try:
        if options.checkpoint is not None:
            proof.save()
        if proof.record is not None and options.certificate is not None:
            _save_certificate(proof, proof.record, options.certificate)
    except InvalidFile as error:
        warn(str(error), stacklevel=2)


def _save_certificate(proof: Proof, record: Record, path: str | PathLike[str]) -> None:
    """Write the certificate, and say where it shows less than was found."""
    incumbent, scaling = proof.incumbent, proof.incumbent.scaling
    certificate = Certificate.of(record, incumbent.objective, incumbent.bound).about(scaling)
    if certificate.bound == inf:
        warn("No certificate was written: no bound was reached.", stacklevel=3)
        return
    certificate.save(path)
    known = scaling.bound_back(max(incumbent.bound, incumbent.objective))
    if certificate.bound > known + ROUNDING * scaling.size:
        why = ""
        if record.full:
            most = proof.params.certificate_megabytes
            why = f", as the proof took more than certificate_megabytes = {most:g}"
        warn(
            f"The certificate shows a bound of {certificate.bound!r}{why}; the solve found "
            f"{known!r}.",
            stacklevel=3,
        )


METHOD = Method(
    "projected",
    "search, then semidefinite bounds and branching: exact, also proves at full size",
    exact=True,
    run=run,
    options=ProjectedOptions,
    demands=EVERY_DEMAND,
)
