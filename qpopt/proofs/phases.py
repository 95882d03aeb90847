"""The phases of a proof: each makes less of what is open, and leaves the rest to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpopt.control.events import Phase
from qpopt.control.limits import Clock
from qpopt.problem.subproblem import Subproblem, subproblem
from qpopt.proofs.distributed.cluster_tree import ClusterTree
from qpopt.proofs.driver import Proof
from qpopt.proofs.handover import Finish, hand_over
from qpopt.proofs.node import Node
from qpopt.proofs.params import Patience, Share
from qpopt.proofs.root import RootBound
from qpopt.proofs.tree import Tree
from qpopt.relaxations.linear import LinearRelaxation
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation
from qpopt.relaxations.step import decide
from qpopt.search.budget import Budget
from qpopt.search.enumeration import Relaxation, enumerate_part, n_selections
from qpopt.search.local_search import search
from qpopt.verification.enumeration_check import MOST_SELECTIONS

FEW_SELECTIONS = 10**8
"""Below this, looking at all selections takes no longer than a search."""


@dataclass(frozen=True)
class Search:
    """Look for a good solution by swaps.

    Parameters
    ----------
    seconds
        How long; None decides by the limits and by what it gains.
    enumerates
        Whether few selections are looked at one by one afterwards, so that little is enough.
    """

    seconds: float | None = None
    enumerates: bool = True

    def __call__(self, proof: Proof) -> None:
        """Offer the incumbent what is found."""
        params, patience = proof.params, None
        seconds = self.seconds
        if seconds is None:
            seconds, patience = proof.time(params.search), params.search_patience
            size = n_selections(subproblem(proof.instance))
            if self.enumerates and size < params.most_selections:
                few = size < FEW_SELECTIONS
                seconds = min(seconds, params.quick_search if few else params.short_search)
        search(proof.incumbent, Budget(proof.incumbent, seconds=seconds, patience=patience))


class Enumeration:
    """Look at all selections, if that is quickly done."""

    def __call__(self, proof: Proof) -> None:
        """Close the proof where all selections have been looked at."""
        if _look_at_all(proof, subproblem(proof.instance), None, proof.params.enumeration):
            proof.parts = ()


@dataclass(frozen=True)
class Linear:
    """Bound by the linear relaxation; without redundancy it also removes most features.

    Parameters
    ----------
    cliques
        Whether to bound redundancy by clique cuts; otherwise it counts as 0.
    share
        How much of the time it may take; by default what the params say.
    """

    cliques: bool = False
    share: Share | None = None

    def __call__(self, proof: Proof) -> None:
        """Tighten the bound and leave what no better solution can do without."""
        sub = subproblem(proof.instance)
        if not sub.n_select:
            return
        params = proof.params
        share = self.share or (params.linear if sub.R.any() else params.linear_alone)
        clock = Clock(proof.incumbent.clock.share(*share))
        incumbent = proof.incumbent
        incumbent.enter(Phase.LINEAR, "linear relaxation")
        relaxation = LinearRelaxation(sub, cliques=self.cliques)
        more = True
        while True:
            found, objective = relaxation.value(), incumbent.objective
            decided = decide(sub.free, found, objective)
            leaf = proof.leaf
            if leaf is None or found.value < leaf.bound:
                if leaf is not None:
                    leaf.begin_anew(relaxation.step(decided), found.value)
                incumbent.tighten(found.value)
                free = np.setdiff1d(sub.free, np.concatenate([decided.removed, decided.forced]))
                proof.narrow(free, np.union1d(sub.included, decided.forced))
            proof.pause()
            if not more or clock.over:
                return
            remaining = clock.remaining
            more = relaxation.advance(None if remaining is None else max(0.1, remaining))


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
        _hand_over(proof, rest, self.finish, proof.params.solver)


@dataclass(frozen=True)
class Root:
    """Bound everything that is left by the semidefinite relaxation.

    Parameters
    ----------
    branches
        Whether branching follows: then it ends as soon as that pays.
    """

    branches: bool = True

    def __call__(self, proof: Proof) -> None:
        """Improve the bound until nothing is left, time is up, or something else pays more."""
        params = proof.params
        (part,) = proof.parts
        root = RootBound(
            proof.instance,
            free=part.free,
            included=part.included,
            params=params.root,
            record=proof.leaf,
        )
        proof.root = root
        if not self.branches:
            _improve(proof, root, params.to_the_end)
            return
        patience = params.before_branching
        while True:
            _improve(proof, root, patience)
            over = root.finished or proof.incumbent.proven or proof.incumbent.clock.over
            if over or root.sub.n_free <= params.branch_below:
                return
            if _take_apart(proof, root, in_any_case=patience.rounds > params.most_patience):
                return
            # What does not pay now may pay with a better bound.
            patience = patience._replace(rounds=2 * patience.rounds)


@dataclass(frozen=True)
class Branch:
    """Branch and bound on the parts that are left.

    Parameters
    ----------
    enumerates
        Whether all selections of a part are looked at where they are few.
    finish
        Solves the instance of an incumbent by a MIP solver; None where there is none.
    client
        Of a cluster whose workers branch; None to do it here.
    """

    enumerates: bool = True
    finish: Finish | None = None
    client: Any = None

    def __call__(self, proof: Proof) -> None:
        """Go on until nothing better is left, or time is up."""
        start = None if proof.root is None else proof.root.iterate
        if proof.root is not None and len(proof.parts) == 1 and self._end_at_once(proof, start):
            return
        bound = proof.incumbent.bound
        open_ = [
            (part._replace(bound=min(part.bound, bound)), record) for part, record in proof.open()
        ]
        most_selections = _most_selections(proof) if self.enumerates else 0
        if self.client is None:
            nodes = [Node(proof.instance, *part, start, record) for part, record in open_]
            proof.tree = Tree(proof.incumbent, nodes, most_selections)
        else:
            parts = [part for part, _ in open_]
            proof.tree = ClusterTree(proof.incumbent, parts, most_selections, self.client)
        proof.tree.run(proof.pause)

    def _end_at_once(self, proof: Proof, start: SemidefiniteRelaxation | None) -> bool:
        """Look at all selections of the only part, or hand it over; tell whether that was the end.

        What `start`, the iterate of the root, proves is of use only where it is one of this part.
        """
        (part,) = proof.parts
        rest = subproblem(proof.instance, part.free, part.included)
        same = start is not None and np.array_equal(start.sub.free, rest.free)
        relaxation = start.relaxation() if start is not None and same else None
        share = proof.params.enumeration_after_bounds
        if self.enumerates and _look_at_all(proof, rest, relaxation, share):
            return True
        return self.finish is not None and _hand_over(
            proof, rest, self.finish, proof.params.solver_after_bounds
        )


def _most_selections(proof: Proof) -> int:
    """Return how few selections a part must have to be looked at one by one."""
    most = proof.params.most_selections
    return min(most, MOST_SELECTIONS + 1) if proof.recorded else most


def _look_at_all(
    proof: Proof, rest: Subproblem, relaxation: Relaxation | None, share: Share
) -> bool:
    """Look at all selections that are left, if they are few; tell whether all were."""
    few = n_selections(rest) < _most_selections(proof)
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


def _hand_over(proof: Proof, rest: Subproblem, finish: Finish, share: Share) -> bool:
    """Hand what is left to the MIP solver, if it is small; tell whether the gap is closed.

    What is better by less than the gap may still be there, so the part stays open.
    """
    limits = proof.incumbent.clock.share(*share)
    most_variables = proof.params.most_variables
    return hand_over(proof.incumbent, rest, limits, finish, most_variables, proof.leaf)


def _improve(proof: Proof, root: RootBound, patience: Patience) -> None:
    """Improve the root bound until nothing is left, time is up, or it hardly changes."""
    incumbent = proof.incumbent
    recent: list[float] = []
    while not (root.finished or incumbent.proven or proof.pause()):
        root.know(incumbent.objective)
        root.advance(incumbent.clock)
        incumbent.tighten(root.bound)
        incumbent.enter(Phase.ROOT, f"{root.sub.n_free} features free")
        proof.narrow(root.sub.free, root.sub.included)
        recent.append(root.latest)
        if patience.ends(recent):
            break
    root.know(incumbent.objective)
    root.finish(incumbent.clock)
    incumbent.tighten(root.bound)
    proof.narrow(root.sub.free, root.sub.included)


def _take_apart(proof: Proof, root: RootBound, *, in_any_case: bool) -> bool:
    """Split the most promising features off, if that leaves the others with better bounds."""
    proof.incumbent.enter(Phase.ROOT, f"{root.sub.n_free} features free, each by itself")
    parts = root.parts(proof.params.core, proof.incumbent.clock)
    least = proof.params.worth_taking_apart * (root.bound - proof.incumbent.objective)
    pays = in_any_case or len(parts) == 1 or root.bound - parts[1].bound >= least
    if pays:
        root.take_apart(parts)
        proof.parts = parts
    return pays
