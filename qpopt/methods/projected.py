"""The projected method: search for solutions, bounds and branching for the proof."""

from __future__ import annotations

from warnings import warn

from qpopt.control.incumbent import Incumbent
from qpopt.control.settings import Settings
from qpopt.errors import InvalidArgument, InvalidFile
from qpopt.methods.base import Method
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution
from qpopt.proofs.checkpoint import Checkpoint
from qpopt.proofs.driver import Proof
from qpopt.solvers.base import Solver


def solve_projected(instance: Instance, solver: Solver | None, settings: Settings) -> Solution:
    """Search, then prove: linear relaxation, semidefinite root bound, branch and bound.

    Options
    -------
    search_seconds
        Length of the search before the proof; by default a tenth of the time limit, 30 at the
        most, and less where it no longer improves.
    enumerate
        False to leave the proof to bounds and branching alone, even where few selections are left.
    hand_over
        False to leave out HiGHS, which otherwise gets a share of the time where what is left is
        small.
    certificate
        A path to save the certificate of the root bound to.
    checkpoint
        A path to save to what is still open at the end, and about once a minute before. Where it
        exists already, the proof goes on from there. Not together with a certificate, which has no
        words for what was decided before.
    """
    settings.check_options("search_seconds", "enumerate", "hand_over", "certificate", "checkpoint")
    path = settings.option("checkpoint", None)
    if path is not None and settings.option("certificate", None) is not None:
        raise InvalidArgument(
            "A proof in several parts has no certificate: give the option checkpoint or the option "
            "certificate, not both."
        )
    reached = None if path is None else Checkpoint.load(path, instance)
    incumbent = Incumbent(instance, settings, method="projected")
    proof = Proof(instance, incumbent, reached)
    incumbent.run(proof.run)
    proof.note_details()
    _save(proof, settings)
    return incumbent.solution()


def _save(proof: Proof, settings: Settings) -> None:
    """Write what the options ask for; a full disk then costs the file, not the solution."""
    try:
        if settings.option("checkpoint", None) is not None:
            proof.save()
        if (path := settings.option("certificate", None)) is not None:
            if proof.root is None:
                warn("No certificate was written: the root bound was not reached.", stacklevel=2)
            else:
                proof.root.certificate().save(path)
    except InvalidFile as error:
        warn(str(error), stacklevel=2)


METHOD = Method(
    "projected",
    "search, then semidefinite bounds and branching: exact, also proves at full size",
    exact=True,
    run=solve_projected,
)
