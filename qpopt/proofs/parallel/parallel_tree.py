"""Branch and bound whose parts are looked at by several processes of this machine.

Eigen-decompositions hold Python's lock, so threads would wait for one another. Everything that
counts is kept here: a part stays open as it was until a process has answered, so neither an
interruption nor a process that dies loses anything.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Condition, Thread
from typing import BinaryIO, cast

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.processes import command
from qpopt.problem.subproblem import Part
from qpopt.proofs.node import Node
from qpopt.proofs.parallel.messages import Answer, Task, receive, send
from qpopt.proofs.tree import Tree

CHILD = "qpopt.proofs.parallel.child"

PAUSE = 0.2
"""Seconds between two looks at the clock."""

ALONE = 2.0
"""Seconds for which there are no processes: to start one takes as long."""


class ParallelTree:
    """The parts of the selections that may still hold something better.

    It stands where `Tree` does, and goes on as one where all processes have died.

    Parameters
    ----------
    incumbent
        Gets better solutions and bounds.
    nodes
        The parts to begin with: everything that is not known to be worse.
    most_selections
        Parts with fewer selections than this are enumerated, if it can be done quickly.
    n_processes
        How many processes look at parts.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        nodes: Iterable[Node],
        most_selections: int,
        n_processes: int,
    ) -> None:
        self._incumbent = incumbent
        self._tree = Tree(incumbent, nodes, most_selections)
        self._at_work: dict[int, Node] = {}
        self._n_processes = n_processes
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[Thread] = []
        self._alive = 0
        self._over = False
        self._failed: BaseException | None = None
        self._changed = Condition()

    @property
    def nodes(self) -> int:
        """How many parts have been looked at."""
        return self._tree.nodes

    @property
    def bound(self) -> float:
        """No solution has a larger Z than this and the incumbent."""
        with self._changed:
            at_work = [node.bound for node in self._at_work.values()]
            return max([self._tree.bound, *at_work])

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is still open, also where a process looks at it."""
        with self._changed:
            return (*(node.part for node in self._at_work.values()), *self._tree.parts)

    def run(self, stop: Callable[[], bool]) -> None:
        """Go on until nothing better is left within the gap, or `stop` says so."""
        incumbent = self._incumbent
        together = incumbent.clock.seconds + ALONE
        self._tree.run(lambda: stop() or incumbent.clock.seconds >= together)
        if self._done() or incumbent.proven or stop():
            return
        self._over, self._failed = False, None
        try:
            self._begin()
            while self._at_it() and not stop():
                incumbent.tighten(self.bound)
                if incumbent.proven:
                    break
                n_open = len(self._tree.open) + len(self._at_work)
                incumbent.enter(Phase.BRANCH, f"{self.nodes} nodes, {n_open} open")
                with self._changed:
                    self._changed.wait(PAUSE)
        finally:
            self._end()
        if self._failed is not None:
            raise self._failed
        # What dead processes have left is done here; otherwise this only says that all is done.
        self._tree.run(stop)

    def _at_it(self) -> bool:
        """Tell whether there is somebody to wait for."""
        return self._alive > 0 and self._failed is None and not self._done()

    def _done(self) -> bool:
        with self._changed:
            return not self._tree.open and not self._at_work

    def _begin(self) -> None:
        """Start the processes, or as many as the system allows."""
        for number in range(self._n_processes):
            try:
                process = subprocess.Popen(
                    command(CHILD),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C is for this process, which ends the others
                )
                self._processes.append(process)
                thread = Thread(target=self._serve, args=(number, process), daemon=True)
                thread.start()
            except (OSError, RuntimeError) as error:
                self._incumbent.note(f"no more processes can be started: {error}")
                return
            self._threads.append(thread)
            with self._changed:
                self._alive += 1

    def _end(self) -> None:
        """End the processes; what they were looking at stays open as it was."""
        with self._changed:
            self._over = True
            for node in self._at_work.values():
                self._tree.put_back(node)
            self._at_work = {}
            self._changed.notify_all()
        for process in self._processes:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for pipe in cast(Sequence[BinaryIO], (process.stdin, process.stdout)):
                with suppress(OSError):
                    pipe.close()
        self._processes, self._threads = [], []

    def _serve(self, number: int, process: subprocess.Popen[bytes]) -> None:
        """Give one process the most promising part each time, until all is over or it dies."""
        source, target = cast(BinaryIO, process.stdout), cast(BinaryIO, process.stdin)
        try:
            send(target, self._incumbent.instance)
            while (node := self._next(number)) is not None:
                self._take(number, self._asked(node, source, target))
        except (EOFError, OSError):
            with self._changed:
                if (lost := self._at_work.pop(number, None)) is not None:
                    self._tree.put_back(lost)
        except BaseException as error:
            # Of whoever listens to events, or of a bound that cannot be: it ends the solve.
            self._failed = error
        finally:
            with self._changed:
                self._alive -= 1
                self._changed.notify_all()

    def _next(self, number: int) -> Node | None:
        """Wait for an open part and take it; None where all is over."""
        with self._changed:
            while not self._tree.open and self._at_work and not self._over:
                self._changed.wait(PAUSE)
            if self._over or not self._tree.open:
                return None
            node = self._at_work[number] = self._tree.take()
            return node

    def _asked(self, node: Node, source: BinaryIO, target: BinaryIO) -> Answer:
        objective, remaining = self._incumbent.objective, self._incumbent.clock.remaining
        send(target, Task(node.part, node.start, objective, remaining, self._tree.most_selections))
        answer: Answer = receive(source)
        return answer

    def _take(self, number: int, answer: Answer) -> None:
        """Put what is left of a part in its place."""
        if answer.best is not None:
            self._incumbent.offer(answer.best)
        with self._changed:
            if self._over:
                return
            del self._at_work[number]
            for part, start in answer.left:
                self._tree.put_back(Node(self._incumbent.instance, *part, start))
            self._tree.nodes += 1
            self._tree.most_selections = min(self._tree.most_selections, answer.most_selections)
            self._changed.notify_all()
