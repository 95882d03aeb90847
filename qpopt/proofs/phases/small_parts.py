"""What closes small parts: looking at all their selections, or a MIP solver."""

from __future__ import annotations

from dataclasses import dataclass

from qpopt.control.events import Phase
from qpopt.problem.subproblem import Subproblem, subproblem
from qpopt.proofs.driver import Proof
from qpopt.proofs.handover import Finish, hand_over
from qpopt.proofs.params import Share
from qpopt.search.enumeration import Relaxation, enumerate_part, n_selections
from qpopt.verification.enumeration_check import MOST_SELECTIONS


class Enumeration:
    """Look at all selections, if that is quickly done."""

    def __call__(self, proof: Proof) -> None:
        """Close the proof where all selections have been looked at."""
        if look_at_all(proof, subproblem(proof.instance), None, proof.params.enumeration):
            proof.parts = ()


@dataclass(frozen=True)
class Handover:
    """Let the MIP solver try, if the model of what is left is small.

    Parameters
    ----------
    finish
        Solves the instance of an incumbent by a MIP solver.
    """

    finish: Finish

    def __call__(self, proof: Proof) -> None:
        """Offer the incumbent the solver's solution and bound."""
        (part,) = proof.parts
        rest = subproblem(proof.instance, part.free, part.included)
        hand_over_rest(proof, rest, self.finish, proof.params.solver)


def most_selections(proof: Proof) -> int:
    """Return how few selections a part must have to be looked at one by one."""
    most = proof.params.most_selections
    return min(most, MOST_SELECTIONS + 1) if proof.recorded else most


def look_at_all(
    proof: Proof, rest: Subproblem, relaxation: Relaxation | None, share: Share
) -> bool:
    """Look at all selections that are left, if they are few; tell whether all were."""
    few = n_selections(rest) < most_selections(proof)
    if not few or not 0 < rest.n_select <= rest.n_free:
        return False
    note = f"looking at all selections of {rest.n_free} features"
    proof.incumbent.enter(Phase.ENUMERATION, note)
    done = enumerate_part(proof.incumbent, rest, proof.time(share), relaxation)
    if done:
        if proof.leaf is not None:
            proof.leaf.close(proof.incumbent.objective)
        proof.incumbent.tighten(proof.incumbent.objective)
    return done


def hand_over_rest(proof: Proof, rest: Subproblem, finish: Finish, share: Share) -> bool:
    """Hand what is left to the MIP solver, if it is small; tell whether the gap is closed.

    What is better by less than the gap may still be there, so the part stays open.
    """
    limits = proof.incumbent.clock.share(*share)
    most_variables = proof.params.most_variables
    return hand_over(proof.incumbent, rest, limits, finish, most_variables, proof.leaf)
