"""The projected method: search for solutions, semidefinite bounds for the proof, then branching."""

from __future__ import annotations

import numpy as np

from qpopt.bounds.node import Node
from qpopt.bounds.projected import ProjectedLP
from qpopt.bounds.reduced import Indices, reduce
from qpopt.bounds.root import RootBound
from qpopt.instance import Instance
from qpopt.methods.base import Method
from qpopt.methods.branching import Tree
from qpopt.methods.incumbent import Incumbent
from qpopt.methods.settings import Settings
from qpopt.search.run import search
from qpopt.solution import Solution
from qpopt.solvers.base import Solver

SHARE_OF_SEARCH = 0.1
MOST_SECONDS_OF_SEARCH = 30.0
SHARE_OF_LINEAR = 0.1
MOST_SECONDS_OF_LINEAR = 20.0

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
    certificate
        A path to save the certificate of the root bound to.
    """
    settings.check_options("search_seconds", "certificate")
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
        self.free: Indices = reduce(instance).free
        self.included: Indices = reduce(instance).included

    def run(self) -> None:
        """Go through the phases until the gap is closed or time is up."""
        for phase in (self._search, self._linear, self._semidefinite, self._branch):
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

    def _search(self) -> None:
        settings = self.incumbent.settings
        remaining = self.incumbent.remaining
        seconds = MOST_SECONDS_OF_SEARCH
        if remaining is not None:
            seconds = min(seconds, SHARE_OF_SEARCH * remaining)
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

    def _linear(self) -> None:
        """Bound by the linear relaxation; without redundancy it also removes most features."""
        reduced = reduce(self.instance)
        if not reduced.n_select:
            return
        remaining = self.incumbent.remaining
        seconds = MOST_SECONDS_OF_LINEAR
        if remaining is not None:
            seconds = min(seconds, SHARE_OF_LINEAR * remaining)
            if not reduced.R.any():
                # Without redundancy nothing beats the linear relaxation.
                seconds = 0.5 * remaining
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
        self.tree = Tree(self.incumbent, node)
        self.tree.run(self._out_of_time)


METHOD = Method(
    "projected",
    "search, then semidefinite bounds and branching: exact, also proves at full size",
    exact=True,
    run=solve_projected,
)
