"""The projected method: search for solutions, semidefinite bounds for the proof, then branching.

Where few selections are left at any point, they are all looked at instead.
"""

from __future__ import annotations

import numpy as np

from qpopt.bounds.node import Node
from qpopt.bounds.projected import ProjectedLP
from qpopt.bounds.reduced import Indices, reduce
from qpopt.bounds.root import RootBound
from qpopt.instance import Instance
from qpopt.methods.base import Method
from qpopt.methods.branching import Tree
from qpopt.methods.enumerating import MOST_SELECTIONS, enumerate_part, n_selections
from qpopt.methods.incumbent import Incumbent
from qpopt.methods.settings import Settings
from qpopt.search.run import search
from qpopt.solution import Solution
from qpopt.solvers.base import Solver

SHARE_OF_SEARCH = 0.1
MOST_SECONDS_OF_SEARCH = 30.0
SEARCH_BEFORE_ENUMERATION = 0.5
"""Seconds of search where all selections may be looked at afterwards."""

SHARE_OF_ENUMERATION = 0.1
MOST_SECONDS_OF_ENUMERATION = 10.0
SHARE_OF_LINEAR = 0.1
MOST_SECONDS_OF_LINEAR = 5.0

BRANCH_BELOW = 400
"""With fewer free features than this, branching pays as soon as the root bound hardly improves."""

SLOW = 2e-4
"""Relative improvement of the root bound over some rounds that counts as hardly any."""

PATIENCE = 6


def solve_projected(instance: Instance, solver: Solver | None, settings: Settings) -> Solution:
    """Search, then prove: linear relaxation, semidefinite root bound, branch and bound.

    Options
    -------
    search_seconds
        Length of the search before the proof; a tenth of the time limit, 30 at the most, by
        default.
    enumerate
        False to leave the proof to bounds and branching alone, even where few selections are left.
    certificate
        A path to save the certificate of the root bound to.
    """
    settings.check_options("search_seconds", "enumerate", "certificate")
    incumbent = Incumbent(instance, settings, method="projected")
    work = _Proof(instance, incumbent)
    incumbent.run(work.run)
    work.note_details()
    if (path := settings.option("certificate", None)) is not None and work.root is not None:
        work.root.certificate().save(path)
    return incumbent.solution()


class _Proof:
    """The phases of one solve."""

    def __init__(self, instance: Instance, incumbent: Incumbent) -> None:
        self.instance = instance
        self.incumbent = incumbent
        self.root: RootBound | None = None
        self.tree: Tree | None = None
        enumerates = bool(incumbent.settings.option("enumerate", True))
        self.most_selections = MOST_SELECTIONS if enumerates else 0
        self.free: Indices = reduce(instance).free
        self.included: Indices = reduce(instance).included

    def run(self) -> None:
        """Go through the phases until the gap is closed or time is up."""
        for phase in (
            self._search,
            self._enumerate,
            self._linear,
            self._semidefinite,
            self._branch,
        ):
            found = self.incumbent.best is not None
            if found and (self.incumbent.proven or self.incumbent.out_of_time):
                return
            phase()

    def note_details(self) -> None:
        """Put what the proof decided into the details of the solution."""
        self.incumbent.details["features_free"] = len(self.free)
        self.incumbent.details["nodes"] = 0 if self.tree is None else self.tree.nodes

    def _out_of_time(self) -> bool:
        return self.incumbent.out_of_time

    def _part_of_time(self, share: float, most: float) -> float:
        remaining = self.incumbent.remaining
        return most if remaining is None else min(most, share * remaining)

    def _search(self) -> None:
        settings = self.incumbent.settings
        seconds = self._part_of_time(SHARE_OF_SEARCH, MOST_SECONDS_OF_SEARCH)
        if n_selections(reduce(self.instance)) < self.most_selections:
            seconds = min(seconds, SEARCH_BEFORE_ENUMERATION)
        self.incumbent.say("searching")
        result = search(
            self.instance,
            time_limit=float(settings.option("search_seconds", seconds)),
            seed=settings.seed,
            start=None if settings.start is None else settings.start.selection,
        )
        self.incumbent.offer(result.selection, result.assignment)
        if result.interrupted:
            raise KeyboardInterrupt

    def _enumerate(self) -> None:
        """Look at all selections, if that is quickly done and no certificate is asked for."""
        whole = reduce(self.instance)
        if (
            self.incumbent.settings.option("certificate", None) is not None
            or n_selections(whole) >= self.most_selections
            or whole.n_select == 0
        ):
            return
        self.incumbent.say("looking at all selections")
        seconds = self._part_of_time(SHARE_OF_ENUMERATION, MOST_SECONDS_OF_ENUMERATION)
        if enumerate_part(self.incumbent, whole, seconds, self._out_of_time):
            self.free = self.free[:0]
            self.incumbent.lower_bound(self.incumbent.objective)

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
            self.free = reduced.free[
                (found.with_feature > objective) & (found.without_feature > objective)
            ]
            self.included = np.union1d(
                reduced.included, reduced.free[found.without_feature <= objective]
            )

    def _semidefinite(self) -> None:
        if self.incumbent.settings.option("certificate", None) is None:
            root = RootBound(self.instance, free=self.free, included=self.included)
        else:
            # A certificate has no words for what the linear relaxation has decided.
            root = RootBound(self.instance)
        self.root = root
        recent: list[float] = []
        while not root.finished and not self._out_of_time():
            root.know(self.incumbent.objective)
            root.advance(self._out_of_time)
            self.incumbent.lower_bound(root.bound)
            self.incumbent.say(f"{root.n_free} features free")
            if self.incumbent.proven:
                break
            recent.append(root.latest)
            if root.n_free <= BRANCH_BELOW and len(recent) > PATIENCE:
                gain = recent[-1 - PATIENCE] - min(recent[-PATIENCE:])
                if gain < SLOW * abs(recent[-1]):
                    break
        root.know(self.incumbent.objective)
        root.finish()
        self.incumbent.lower_bound(root.bound)
        self.free, self.included = root.free, root.included

    def _branch(self) -> None:
        assert self.root is not None
        node = Node(
            self.instance, self.free, self.included, self.incumbent.bound, self.root.iterate
        )
        self.tree = Tree(self.incumbent, node, self.most_selections)
        self.tree.run(self._out_of_time)


METHOD = Method(
    "projected",
    "search, then semidefinite bounds and branching: exact, also proves at full size",
    exact=True,
    run=solve_projected,
)
