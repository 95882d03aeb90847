"""Proof: a solution by search, then bounds, until nothing better can be left.

Where few selections are left at any point, they are all looked at instead; where the model of what
is left is small, the MIP solver gets a share of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from qpopt.control.incumbent import Incumbent
from qpopt.errors import InvalidFile
from qpopt.problem.instance import Instance
from qpopt.problem.part import Part
from qpopt.problem.subproblem import Indices, Reduced, reduce
from qpopt.proofs.checkpoint import Checkpoint
from qpopt.proofs.node import Node
from qpopt.proofs.root import RootBound
from qpopt.proofs.tree import Tree
from qpopt.relaxations.linear import ProjectedLP
from qpopt.relaxations.semidefinite import Semidefinite
from qpopt.search.enumerating import MOST_SELECTIONS, enumerate_part, n_selections
from qpopt.search.enumeration import Relaxation
from qpopt.search.local_search import search

SHARE_OF_SEARCH = 0.1
MOST_SECONDS_OF_SEARCH = 30.0
PATIENCE_OF_SEARCH = 6.0
"""Seconds without an improvement after which time is better spent on the proof."""

SEARCH_BEFORE_ENUMERATION = ((10**8, 0.05), (MOST_SELECTIONS, 0.5))
"""Up to so many selections, seconds of search: afterwards all may be looked at."""

SHARE_OF_ENUMERATION = 0.1
MOST_SECONDS_OF_ENUMERATION = 5.0
"""Before any bound is known; afterwards it pays to take longer."""

SHARE_AFTER_BOUNDS = 0.3
MOST_SECONDS_AFTER_BOUNDS = 60.0
SHARE_OF_SOLVER = 0.1
MOST_SECONDS_OF_SOLVER = 5.0
SHARE_OF_SOLVER_AFTER_BOUNDS = 0.2
MOST_SECONDS_OF_SOLVER_AFTER_BOUNDS = 60.0
SHARE_OF_LINEAR = 0.1
MOST_SECONDS_OF_LINEAR = 5.0

BRANCH_BELOW = 400
"""With fewer free features than this, branching pays as soon as the root bound hardly improves."""

CORE = 300
"""Where more are free, branching begins with the selections of so many features."""

WORTH_TAKING_APART = 0.1
"""Share of the gap by which the bounds of all other selections must be better than the root's."""

SLOW = 2e-4
"""Relative improvement of the root bound over some rounds that counts as hardly any."""

PATIENCE = 6
MOST_PATIENCE = 50
"""Rounds: where even so many hardly improve the root bound, nothing but branching will."""

SECONDS_BETWEEN_SAVES = 60.0


class Proof:
    """The phases of one solve.

    Parameters
    ----------
    instance
        The instance.
    incumbent
        Gets solutions and bounds; its settings have the limits and options.
    reached
        What an earlier solve has left open.
    """

    def __init__(
        self, instance: Instance, incumbent: Incumbent, reached: Checkpoint | None = None
    ) -> None:
        self.instance = instance
        self.incumbent = incumbent
        self.root: RootBound | None = None
        self.tree: Tree | None = None
        enumerates = bool(incumbent.settings.option("enumerate", True))
        self.most_selections = MOST_SELECTIONS if enumerates else 0
        self.hands_over = bool(incumbent.settings.option("hand_over", True))
        whole = reduce(instance)
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
            if found and (self.incumbent.proven or self.incumbent.out_of_time):
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
        if best is None or before_resuming:
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
        ).save(self.incumbent.settings.option("checkpoint", None))

    def _save_sometimes(self) -> None:
        asked = self.incumbent.settings.option("checkpoint", None) is not None
        if asked and self.incumbent.seconds > self._saved_at + SECONDS_BETWEEN_SAVES:
            try:
                self.save()
            except InvalidFile as error:
                # A full disk must not end the proof; the last save will tell.
                self.incumbent.say(str(error))
            self._saved_at = self.incumbent.seconds

    def _narrow(self, free: Indices, included: Indices) -> None:
        """Go on with one part: nothing outside it is better than the incumbent."""
        self._parts = (Part(free, included, self.incumbent.bound),)

    def _out_of_time(self) -> bool:
        return self.incumbent.out_of_time

    def _part_of_time(self, share: float, most: float) -> float:
        remaining = self.incumbent.remaining
        return most if remaining is None else min(most, share * remaining)

    def _resume(self, reached: Checkpoint) -> None:
        """Take over what an earlier solve knew."""
        self.incumbent.offer(*reached.best)
        known = max((part.bound for part in reached.parts), default=reached.objective)
        self.incumbent.lower_bound(max(known, reached.objective))

    def _search(self) -> None:
        settings = self.incumbent.settings
        seconds = self._part_of_time(SHARE_OF_SEARCH, MOST_SECONDS_OF_SEARCH)
        size = n_selections(reduce(self.instance))
        if size < self.most_selections:
            enough = next(length for most, length in SEARCH_BEFORE_ENUMERATION if size < most)
            seconds = min(seconds, enough)
        self.incumbent.say("searching")
        asked = settings.option("search_seconds", None)
        result = search(
            self.instance,
            time_limit=seconds if asked is None else float(asked),
            patience=PATIENCE_OF_SEARCH if asked is None else None,
            seed=settings.seed,
            start=None if settings.start is None else settings.start.selection,
            on_progress=self.incumbent.hear,
        )
        self.incumbent.offer(result.selection, result.assignment)
        if result.interrupted:
            raise KeyboardInterrupt

    def _enumerate(self) -> None:
        """Look at all selections, if that is quickly done and no certificate is asked for."""
        if self.incumbent.settings.option("certificate", None) is not None:
            return
        seconds = self._part_of_time(SHARE_OF_ENUMERATION, MOST_SECONDS_OF_ENUMERATION)
        if self._look_at_all(reduce(self.instance), None, seconds):
            self._parts = ()

    def _look_at_all(self, rest: Reduced, relaxation: Relaxation | None, seconds: float) -> bool:
        """Look at all selections that are left, if they are few; tell whether all were."""
        if not 0 < rest.n_select <= rest.n_free or n_selections(rest) >= self.most_selections:
            return False
        self.incumbent.say(f"looking at all selections of {rest.n_free} features")
        done = enumerate_part(self.incumbent, rest, seconds, self._out_of_time, relaxation)
        if done:
            self.incumbent.lower_bound(self.incumbent.objective)
        return done

    def _linear(self) -> None:
        """Bound by the linear relaxation; without redundancy it also removes most features."""
        reduced = reduce(self.instance)
        if not reduced.n_select:
            return
        remaining = self.incumbent.remaining
        seconds = self._part_of_time(SHARE_OF_LINEAR, MOST_SECONDS_OF_LINEAR)
        if not reduced.R.any():
            # Without redundancy the linear relaxation is nearly all there is to gain.
            seconds = 60.0 if remaining is None else 0.5 * remaining
        until = self.incumbent.seconds + seconds
        self.incumbent.say("linear relaxation")
        relaxation = ProjectedLP(reduced, cliques=False)
        more = True
        while more and self.incumbent.seconds < until:
            more = relaxation.advance(max(0.1, until - self.incumbent.seconds))
            found = relaxation.value()
            self.incumbent.lower_bound(found.value)
            objective = self.incumbent.objective
            undecided = (found.with_feature > objective) & (found.without_feature > objective)
            forced = reduced.free[found.without_feature <= objective]
            self._narrow(reduced.free[undecided], np.union1d(reduced.included, forced))

    def _ask_solver(self) -> None:
        """Let the MIP solver try, if the model is small and no certificate is asked for."""
        if self.incumbent.settings.option("certificate", None) is None:
            (part,) = self._parts
            rest = reduce(self.instance, part.free, part.included)
            self._hand_over(rest, SHARE_OF_SOLVER, MOST_SECONDS_OF_SOLVER)

    def _hand_over(self, rest: Reduced, share: float, most: float) -> bool:
        """Hand what is left to the MIP solver, if it is small; tell whether the gap is closed.

        What is better by less than the gap may still be there, so the part stays open.
        """
        from qpopt.proofs.handover import hand_over  # pyomo takes a second to import

        if not self.hands_over or not 0 < rest.n_select <= rest.n_free:
            return False
        return hand_over(self.incumbent, rest, self._part_of_time(share, most))

    def _semidefinite(self) -> None:
        if self.incumbent.settings.option("certificate", None) is None:
            (part,) = self._parts
            root = RootBound(self.instance, free=part.free, included=part.included)
        else:
            # A certificate has no words for what the linear relaxation has decided.
            root = RootBound(self.instance)
        self.root = root
        patience = PATIENCE
        while True:
            self._improve(root, patience)
            over = root.finished or self.incumbent.proven or self._out_of_time()
            if over or root.n_free <= BRANCH_BELOW:
                return
            if self._take_apart(root, patience > MOST_PATIENCE):
                return
            # What does not pay now may pay with a better bound.
            patience *= 2

    def _improve(self, root: RootBound, patience: int) -> None:
        """Improve the root bound until nothing is left, time is up, or it hardly changes."""
        recent: list[float] = []
        while not root.finished and not self._out_of_time():
            root.know(self.incumbent.objective)
            root.advance(self._out_of_time)
            self.incumbent.lower_bound(root.bound)
            self.incumbent.say(f"{root.n_free} features free")
            self._narrow(root.free, root.included)
            self._save_sometimes()
            if self.incumbent.proven:
                break
            recent.append(root.latest)
            if len(recent) > patience:
                gain = recent[-1 - patience] - min(recent[-patience:])
                if gain <= SLOW * abs(recent[-1]):
                    break
        root.know(self.incumbent.objective)
        root.finish(self._out_of_time)
        self.incumbent.lower_bound(root.bound)
        self._narrow(root.free, root.included)

    def _take_apart(self, root: RootBound, in_any_case: bool) -> bool:
        """Split the most promising features off, if that leaves the others with better bounds."""
        self.incumbent.say(f"{root.n_free} features free, each by itself")
        parts = root.parts(CORE, self._out_of_time)
        gap = root.bound - self.incumbent.objective
        pays = len(parts) == 1 or root.bound - parts[1].bound >= WORTH_TAKING_APART * gap
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

    def _end_at_once(self, start: Semidefinite | None) -> bool:
        """Look at all selections of the only part, or hand it over; tell whether that was the end.

        Parameters
        ----------
        start
            The iterate of the root; what it proves is of use only where it is one of this part.
        """
        (part,) = self._parts
        rest = reduce(self.instance, part.free, part.included)
        same = start is not None and np.array_equal(start.reduced.free, rest.free)
        relaxation = start.relaxation() if start is not None and same else None
        seconds = self._part_of_time(SHARE_AFTER_BOUNDS, MOST_SECONDS_AFTER_BOUNDS)
        return self._look_at_all(rest, relaxation, seconds) or self._hand_over(
            rest, SHARE_OF_SOLVER_AFTER_BOUNDS, MOST_SECONDS_OF_SOLVER_AFTER_BOUNDS
        )

    def _stop_branching(self) -> bool:
        self._save_sometimes()
        return self._out_of_time()
