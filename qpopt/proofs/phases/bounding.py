"""The bounds of a proof: a linear relaxation, then a semidefinite one."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from qpopt.control.events import Phase
from qpopt.control.limits import Clock
from qpopt.problem.subproblem import Floats, subproblem
from qpopt.proofs.driver import Proof
from qpopt.proofs.params import Patience, Share
from qpopt.proofs.root import RootBound
from qpopt.relaxations.linear import LinearRelaxation
from qpopt.relaxations.step import decide


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
        opened = sorted(proof.open(), key=lambda one: -one[0].bound)
        if not opened:
            return
        proof.set_aside([part for part, _ in opened])
        part, record = opened[0]
        root = RootBound(
            proof.instance,
            free=part.free,
            included=part.included,
            params=params.root,
            record=record,
        )
        proof.root = root
        if not self.branches:
            _improve(proof, root, params.to_the_end)
            return
        patience = params.before_branching
        while True:
            _improve(proof, root, patience)
            over = root.bound <= max(proof.bound_aside, proof.incumbent.objective)
            if over or proof.incumbent.proven or root.time_to_end(proof.incumbent.clock):
                return
            if root.sub.n_free <= params.branch_below:
                return
            last = root.sub.n_free <= params.core or patience.rounds > params.most_patience
            pays = _take_apart(proof, root, in_any_case=last)
            if last:
                return
            # What does not pay now may pay with a better bound.
            rounds = params.before_branching.rounds if pays else 2 * patience.rounds
            patience = patience._replace(rounds=rounds)


def _improve(proof: Proof, root: RootBound, patience: Patience) -> None:
    """Improve the root bound until nothing is left, time is up, or it hardly changes."""
    incumbent = proof.incumbent
    recent: list[float] = []
    while not (root.finished or incumbent.proven or proof.pause()):
        if root.time_to_end(incumbent.clock):
            break
        root.know(incumbent.objective)
        root.advance(incumbent.clock)
        _tell(proof, root)
        incumbent.enter(Phase.ROOT, f"{root.sub.n_free} features free")
        recent.append(root.latest)
        if root.latest == inf:
            # The first bound of all features takes its time: that is no standstill.
            incumbent.clock.moved()
        if patience.ends(recent) or root.bound <= proof.bound_aside:
            break
    root.know(incumbent.objective)
    root.finish(incumbent.clock)
    _tell(proof, root)


def _tell(proof: Proof, root: RootBound) -> None:
    """Let the proof know what the root has reached of the part that it works on."""
    proof.incumbent.tighten(max(root.bound, proof.bound_aside))
    proof.narrow(root.sub.free, root.sub.included, root.bound)
    if root.sub.n_select == 0:
        # The only selection that is left may be better than what is known: nobody else looks at it.
        proof.incumbent.settle(root.sub.included)


def _take_apart(proof: Proof, root: RootBound, *, in_any_case: bool) -> bool:
    """Set the less promising features aside, if that leaves them with better bounds."""
    params, objective = proof.params, proof.incumbent.objective
    gap, n_free = root.bound - objective, root.sub.n_free
    least = max(params.core, root.sub.n_select)

    def size(bounds: Floats) -> int:
        if in_any_case:
            return least
        # What lies below others that wait can wait as well.
        level = max(objective + params.lowest_level * gap, proof.bound_aside)
        above = int(np.count_nonzero(bounds > level))
        return max(least, min(above, int(params.largest_core * n_free)))

    proof.incumbent.enter(Phase.ROOT, f"{n_free} features free, each by itself")
    parts = root.parts(size, proof.incumbent.clock)
    pays = in_any_case or len(parts) == 1
    pays = pays or root.bound - parts[1].bound >= params.worth_taking_apart * gap
    if pays:
        root.take_apart(parts)
        proof.set_aside(parts)
    return pays
