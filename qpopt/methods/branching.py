"""Branch and bound on the selection, best first."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from math import inf

from qpopt.bounds.node import Node
from qpopt.methods.incumbent import Incumbent
from qpopt.search.assignment import assign

ROUNDS_PER_NODE = 12


class Tree:
    """The parts of the selections that may still hold something better.

    Parameters
    ----------
    incumbent
        Gets better solutions and bounds.
    root
        The part to begin with: everything that is not known to be worse.
    """

    def __init__(self, incumbent: Incumbent, root: Node) -> None:
        self._incumbent = incumbent
        self._number = count()
        self._open: list[tuple[float, int, Node]] = []
        self.nodes = 0
        self._push(root)

    @property
    def bound(self) -> float:
        """No solution has a larger Z than this and the incumbent."""
        return max(-self._open[0][0] if self._open else -inf, self._incumbent.objective)

    def run(self, stop: Callable[[], bool]) -> None:
        """Go on until nothing better is left within the gap, or `stop` says so."""
        incumbent = self._incumbent
        while self._open and not stop():
            incumbent.lower_bound(self.bound)
            if incumbent.proven:
                return
            node = self._open[0][2]
            incumbent.say(f"{self.nodes} nodes, {len(self._open)} open")
            node.improve(incumbent.objective, ROUNDS_PER_NODE, stop)
            # Until its children are in, the node stays open: an interruption loses nothing.
            self._offer(node)
            if node.bound <= incumbent.objective or node.decided is not None or node.empty:
                heapq.heappop(self._open)
            elif not stop():
                children = node.split()
                heapq.heappop(self._open)
                for child in children:
                    self._push(child)
            self.nodes += 1
        if not self._open:
            incumbent.lower_bound(incumbent.objective)

    def _push(self, node: Node) -> None:
        if not node.empty and node.bound > self._incumbent.objective:
            heapq.heappush(self._open, (-node.bound, next(self._number), node))

    def _offer(self, node: Node) -> None:
        if not node.empty:
            chosen = node.rounded()
            instance = self._incumbent.instance
            self._incumbent.offer(chosen, assign(instance.A, chosen, instance.n_per_class))
