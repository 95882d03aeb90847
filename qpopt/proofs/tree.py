"""Branch and bound on the selection, best first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import count
from math import inf

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.problem.subproblem import Part
from qpopt.proofs.node import Node
from qpopt.search.enumeration import enumerate_part, n_selections

ROUNDS_PER_NODE = 12

FEW_SELECTIONS = 10_000
"""So many are looked at in less time than a bound takes."""

SECONDS_PER_ENUMERATION = 1.0
FEWER = 16
"""After a part was too large to enumerate, others are tried only if they are so much smaller."""


class Tree:
    """The parts of the selections that may still hold something better.

    Parameters
    ----------
    incumbent
        Gets better solutions and bounds.
    nodes
        The parts to begin with: everything that is not known to be worse.
    most_selections
        Parts with fewer selections than this are enumerated, if it can be done quickly.

    Attributes
    ----------
    most_selections
        The same, less after an enumeration that took too long.
    nodes
        How many parts have been looked at.
    """

    def __init__(self, incumbent: Incumbent, nodes: Iterable[Node], most_selections: int) -> None:
        self._incumbent = incumbent
        self._number = count()
        self._open: list[tuple[float, int, Node]] = []
        self.most_selections = most_selections
        self.nodes = 0
        for node in nodes:
            self._push(node, self._open)

    @property
    def bound(self) -> float:
        """No solution has a larger Z than this and the incumbent."""
        return max(-self._open[0][0] if self._open else -inf, self._incumbent.objective)

    @property
    def open(self) -> list[Node]:
        """The parts that are open."""
        return [node for _, _, node in self._open]

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is still open."""
        return tuple(node.part for _, _, node in self._open)

    def run(self, stop: Callable[[], bool]) -> None:
        """Go on until nothing better is left within the gap, or `stop` says so."""
        incumbent = self._incumbent
        while self._open and not stop():
            incumbent.tighten(self.bound)
            if incumbent.proven:
                return
            incumbent.enter(Phase.BRANCH, f"{self.nodes} nodes, {len(self._open)} open")
            self.step(stop)
        if not self._open:
            incumbent.tighten(incumbent.objective)

    def step(self, stop: Callable[[], bool]) -> None:
        """Look at the most promising part: close it, or put two halves in its place."""
        incumbent, node = self._incumbent, self._open[0][2]
        if not self._small(node, FEW_SELECTIONS):
            node.improve(incumbent.objective, ROUNDS_PER_NODE, stop)
            if not node.empty:
                last = node.decided is not None and node.bound > incumbent.objective
                (incumbent.settle if last else incumbent.judge)(node.rounded())
        if node.bound > incumbent.objective and self._small(node, self.most_selections):
            self._enumerate(node)
        if node.bound <= incumbent.objective or node.decided is not None or node.empty:
            self._replace_first()
        elif not stop():
            self._replace_first(*node.split())
        self.nodes += 1

    def take(self) -> Node:
        """Remove the most promising part, and return it."""
        return heapq.heappop(self._open)[2]

    def put_back(self, node: Node) -> None:
        """Add a part, unless nothing in it is better than what is known."""
        self._push(node, self._open)

    def _small(self, node: Node, most: int) -> bool:
        """Tell whether there is something to choose, but little enough to look at all of it."""
        open_ = not node.empty and node.decided is None
        return open_ and n_selections(node.sub) < min(most, self.most_selections)

    def _enumerate(self, node: Node) -> None:
        """Look at all selections of a node, if that is quickly done; its bound tells whether."""
        relaxation = None if node.semidefinite is None else node.semidefinite.relaxation()
        if enumerate_part(self._incumbent, node.sub, SECONDS_PER_ENUMERATION, relaxation):
            node.bound = min(node.bound, self._incumbent.objective)
            if node.record is not None:
                node.record.close(node.bound)
        else:
            self.most_selections = n_selections(node.sub) // FEWER

    def _replace_first(self, *nodes: Node) -> None:
        """Put nodes in the place of the first one, all at once: an interruption loses nothing."""
        changed = self._open[:]
        heapq.heappop(changed)
        for node in nodes:
            self._push(node, changed)
        self._open = changed

    def _push(self, node: Node, heap: list[tuple[float, int, Node]]) -> None:
        if not node.empty and node.bound > self._incumbent.objective:
            heapq.heappush(heap, (-node.bound, next(self._number), node))
