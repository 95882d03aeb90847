"""Proof: a solution by search, then bounds, until nothing better can be left.

Where few selections are left at any point, they are all looked at instead; where the model of what
is left is small, the MIP solver gets a share of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from os import PathLike

import numpy as np

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Clock, Limits
from qpopt.errors import InvalidFile
from qpopt.problem.subproblem import Indices, Part, Subproblem, subproblem
from qpopt.proofs.checkpoint import Checkpoint
from qpopt.proofs.handover import Finish, hand_over
from qpopt.proofs.node import Node
from qpopt.proofs.params import ProofParams, Share
from qpopt.proofs.root import RootBound
from qpopt.proofs.tree import Tree
from qpopt.relaxations.linear import LinearRelaxation
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation
from qpopt.search.budget import Budget
from qpopt.search.enumeration import Relaxation, enumerate_part, n_selections
from qpopt.search.local_search import search

DEFAULTS = ProofParams()

FEW_SELECTIONS = 10**8
"""Below this, looking at all selections takes no longer than a search."""


class Proof:
    """The phases of one solve.

    Parameters
    ----------
    incumbent
        Gets solutions and bounds.
    reached
        What an earlier solve has left open.
    search_seconds
        Length of the search; None decides by the limits and by what it gains.
    enumerates
        Whether all selections are looked at where few are left.
    finish
        Solves the instance of an incumbent by a MIP solver; None where there is none.
    certified
        Whether the root bound must stand for itself, without what other phases decided.
    checkpoint
        Where `save` saves to, and the run now and then.
    params
        How time is divided.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        reached: Checkpoint | None = None,
        *,
        search_seconds: float | None = None,
        enumerates: bool = True,
        finish: Finish | None = None,
        certified: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        params: ProofParams = DEFAULTS,
    ) -> None:
        instance = incumbent.instance
        self.instance = instance
        self.incumbent = incumbent
        self.search_seconds = search_seconds
        self.finish = finish
        self.certified = certified
        self.checkpoint = checkpoint
        self.params = params
        self.root: RootBound | None = None
        self.tree: Tree | None = None
        self.most_selections = params.most_selections if enumerates else 0
        whole = subproblem(instance)
        # Always replaced as a whole: an interruption must not find features in no part at all.
        self._parts: tuple[Part, ...] = (Part(whole.free, whole.included, inf),)
        if reached is not None:
            self._parts = reached.parts
        self._reached = reached
        self._saved_at = 0.0

    def run(self) -> None:
        """Go through the phases until the gap is closed or time is up."""
        if self._reached is not None:
            self._resume(self._reached)
        for phase in self._phases():
            found = self.incumbent.best is not None
            if found and (self.incumbent.proven or self.incumbent.clock.over):
                return
            phase()

    def _phases(self) -> list[Callable[[], None]]:
        if self._reached is None:
            return [
                self._search,
                self._enumerate,
                self._linear,
                self._ask_solver,
                self._semidefinite,
                self._branch,
            ]
        if len(self._parts) == 1:
            return [self._semidefinite, self._branch]
        return [self._branch]

    def note_details(self) -> None:
        """Put what the proof decided into the details of the solution."""
        free = {d for part in self._parts for d in part.free.tolist()}
        self.incumbent.details["features_free"] = len(free)
        self.incumbent.details["nodes"] = 0 if self.tree is None else self.tree.nodes

    def save(self) -> None:
        """Write the checkpoint, unless there is nothing worth keeping or it holds more already."""
        best, bound = self.incumbent.best, self.incumbent.bound
        before_resuming = self._reached is not None and (
            self.incumbent.objective < self._reached.objective
        )
        if best is None or before_resuming or self.checkpoint is None:
            return
        if self.tree is not None:
            parts = self.tree.parts
        elif bound <= self.incumbent.objective:
            parts = ()
        else:
            parts = tuple(part._replace(bound=min(part.bound, bound)) for part in self._parts)
        Checkpoint(
            self.instance.fingerprint,
            self.instance.n_features,
            best,
            self.incumbent.objective,
            parts,
        ).save(self.checkpoint)

    def _save_sometimes(self) -> None:
        if self.incumbent.clock.seconds > self._saved_at + self.params.seconds_between_saves:
            try:
                self.save()
            except InvalidFile as error:
                # A full disk must not end the proof; the last save will tell.
                self.incumbent.enter(Phase.BRANCH, str(error))
            self._saved_at = self.incumbent.clock.seconds

    def _narrow(self, free: Indices, included: Indices) -> None:
        """Go on with one part: nothing outside it is better than the incumbent."""
        self._parts = (Part(free, included, self.incumbent.bound),)

    def _out_of_time(self) -> bool:
        return self.incumbent.clock.over

    def _part_of_time(self, share: Share) -> float:
        seconds = self.incumbent.clock.share(*share).time_limit
        assert seconds is not None
        return seconds

    def _resume(self, reached: Checkpoint) -> None:
        """Take over what an earlier solve knew."""
        self.incumbent.offer(reached.best)
        known = max((part.bound for part in reached.parts), default=reached.objective)
        self.incumbent.tighten(max(known, reached.objective))

    def _search(self) -> None:
        seconds = self._part_of_time(self.params.search)
        size = n_selections(subproblem(self.instance))
        if size < self.most_selections:
            few = size < FEW_SELECTIONS
            enough = self.params.quick_search if few else self.params.short_search
            seconds = min(seconds, enough)
        asked = self.search_seconds
        budget = Budget(
            self.incumbent,
            seconds=seconds if asked is None else asked,
            patience=self.params.search_patience if asked is None else None,
        )
        search(self.incumbent, budget)

    def _enumerate(self) -> None:
        """Look at all selections, if that is quickly done and no certificate is asked for."""
        if self.certified:
            return
        seconds = self._part_of_time(self.params.enumeration)
        if self._look_at_all(subproblem(self.instance), None, seconds):
            self._parts = ()

    def _look_at_all(self, rest: Subproblem, relaxation: Relaxation | None, seconds: float) -> bool:
        """Look at all selections that are left, if they are few; tell whether all were."""
        if not 0 < rest.n_select <= rest.n_free or n_selections(rest) >= self.most_selections:
            return False
        note = f"looking at all selections of {rest.n_free} features"
        self.incumbent.enter(Phase.ENUMERATION, note)
        done = enumerate_part(self.incumbent, rest, seconds, relaxation)
        if done:
            self.incumbent.tighten(self.incumbent.objective)
        return done

    def _linear(self) -> None:
        """Bound by the linear relaxation; without redundancy it also removes most features."""
        sub = subproblem(self.instance)
        if not sub.n_select:
            return
        seconds = self._part_of_time(self.params.linear)
        if not sub.R.any():
            # Without redundancy the linear relaxation is nearly all there is to gain.
            limited = self.incumbent.limits.time_limit is not None
            seconds = self._part_of_time(Share(0.5, inf if limited else 60.0))
        clock = Clock(Limits(seconds))
        self.incumbent.enter(Phase.LINEAR, "linear relaxation")
        relaxation = LinearRelaxation(sub, cliques=False)
        more = True
        while more and not clock.over:
            more = relaxation.advance(max(0.1, clock.remaining or 0.0))
            found = relaxation.value()
            self.incumbent.tighten(found.value)
            objective = self.incumbent.objective
            undecided = (found.with_feature > objective) & (found.without_feature > objective)
            forced = sub.free[found.without_feature <= objective]
            self._narrow(sub.free[undecided], np.union1d(sub.included, forced))

    def _ask_solver(self) -> None:
        """Let the MIP solver try, if the model is small and no certificate is asked for."""
        if not self.certified:
            (part,) = self._parts
            rest = subproblem(self.instance, part.free, part.included)
            self._hand_over(rest, self.params.solver)

    def _hand_over(self, rest: Subproblem, share: Share) -> bool:
        """Hand what is left to the MIP solver, if it is small; tell whether the gap is closed.

        What is better by less than the gap may still be there, so the part stays open.
        """
        if self.finish is None or not 0 < rest.n_select <= rest.n_free:
            return False
        return hand_over(self.incumbent, rest, self.incumbent.clock.share(*share), self.finish)

    def _semidefinite(self) -> None:
        if not self.certified:
            (part,) = self._parts
            root = RootBound(self.instance, free=part.free, included=part.included)
        else:
            # A certificate has no words for what the linear relaxation has decided.
            root = RootBound(self.instance)
        self.root = root
        patience = self.params.patience
        while True:
            self._improve(root, patience)
            over = root.finished or self.incumbent.proven or self._out_of_time()
            if over or root.n_free <= self.params.branch_below:
                return
            if self._take_apart(root, patience > self.params.most_patience):
                return
            # What does not pay now may pay with a better bound.
            patience *= 2

    def _improve(self, root: RootBound, patience: int) -> None:
        """Improve the root bound until nothing is left, time is up, or it hardly changes."""
        recent: list[float] = []
        while not root.finished and not self._out_of_time():
            root.know(self.incumbent.objective)
            root.advance(self._out_of_time)
            self.incumbent.tighten(root.bound)
            self.incumbent.enter(Phase.ROOT, f"{root.n_free} features free")
            self._narrow(root.free, root.included)
            self._save_sometimes()
            if self.incumbent.proven:
                break
            recent.append(root.latest)
            if len(recent) > patience:
                gain = recent[-1 - patience] - min(recent[-patience:])
                if gain <= self.params.slow * abs(recent[-1]):
                    break
        root.know(self.incumbent.objective)
        root.finish(self._out_of_time)
        self.incumbent.tighten(root.bound)
        self._narrow(root.free, root.included)

    def _take_apart(self, root: RootBound, in_any_case: bool) -> bool:
        """Split the most promising features off, if that leaves the others with better bounds."""
        self.incumbent.enter(Phase.ROOT, f"{root.n_free} features free, each by itself")
        parts = root.parts(self.params.core, self._out_of_time)
        gap = root.bound - self.incumbent.objective
        pays = (
            len(parts) == 1 or root.bound - parts[1].bound >= self.params.worth_taking_apart * gap
        )
        if pays or in_any_case:
            self._parts = parts
        return pays or in_any_case

    def _branch(self) -> None:
        start = None if self.root is None else self.root.iterate
        if self.root is not None and len(self._parts) == 1 and self._end_at_once(start):
            return
        bound = self.incumbent.bound
        nodes = [
            Node(self.instance, part.free, part.included, min(part.bound, bound), start)
            for part in self._parts
        ]
        self.tree = Tree(self.incumbent, nodes, self.most_selections)
        self.tree.run(self._stop_branching)

    def _end_at_once(self, start: SemidefiniteRelaxation | None) -> bool:
        """Look at all selections of the only part, or hand it over; tell whether that was the end.

        Parameters
        ----------
        start
            The iterate of the root; what it proves is of use only where it is one of this part.
        """
        (part,) = self._parts
        rest = subproblem(self.instance, part.free, part.included)
        same = start is not None and np.array_equal(start.sub.free, rest.free)
        relaxation = start.relaxation() if start is not None and same else None
        seconds = self._part_of_time(self.params.enumeration_after_bounds)
        return self._look_at_all(rest, relaxation, seconds) or self._hand_over(
            rest, self.params.solver_after_bounds
        )

    def _stop_branching(self) -> bool:
        self._save_sometimes()
        return self._out_of_time()
