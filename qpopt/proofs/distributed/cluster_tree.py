"""Branch and bound whose parts are worked on by the workers of a cluster.

All that counts is kept here, at the client: the parts that are open and the best solution. A worker
gets one part and some seconds, and hands back what is left of it. Until then the part stays open
as it was given away, so nothing is lost with a worker, a connection or an interruption.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from heapq import nlargest
from itertools import count
from math import inf
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any
from uuid import uuid4

import numpy as np

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.errors import QpoptError, SolverFailure
from qpopt.problem.subproblem import Part, restricted
from qpopt.proofs.distributed.worker import (
    Order,
    Outcome,
    cancel,
    forget,
    tell,
    work_for_scheduler,
)


@dataclass(frozen=True)
class Slices:
    """How long a worker works on one part.

    Parameters
    ----------
    seconds
        Where there are parts enough: much longer than it takes to send one.
    few_seconds
        Where there are few: then they are handed back sooner, to be divided among more workers.
    parts_per_worker
        How many must wait for each worker to be enough.
    """

    seconds: float = 10.0
    few_seconds: float = 1.0
    parts_per_worker: int = 2


DEFAULTS = Slices()

PAUSE = 0.2
"""Seconds between two looks at the clock and at what was found."""

MOST_LOSSES = 3
"""A part is given away again after dask gave it up, which it does when it has lost several workers
with it; not more often than this."""


class ClusterTree:
    """The parts of the selections that may still hold something better, worked on by a cluster.

    It stands where `Tree` does.

    Parameters
    ----------
    incumbent
        Gets better solutions and bounds.
    parts
        The parts to begin with: everything that is not known to be worse.
    most_selections
        Parts with fewer selections than this are enumerated, if it can be done quickly.
    client
        What `connect` returned.
    slices
        How long a worker works on one part.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        parts: Iterable[Part],
        most_selections: int,
        client: Any,
        slices: Slices = DEFAULTS,
    ) -> None:
        self._incumbent = incumbent
        self._most_selections = most_selections
        self._client = client
        self._slices = slices
        self._name = f"qpopt-{uuid4().hex}"
        self._number = count()
        # By number, with the seconds that each gets; always replaced as a whole.
        self._open: dict[int, tuple[Part, float]] = {
            next(self._number): (part, slices.few_seconds) for part in parts
        }
        self._running: dict[Any, int] = {}
        self._losses: dict[int, int] = {}
        self._done = Event()
        self._found: SimpleQueue[list[int]] = SimpleQueue()
        self.nodes = 0

    @property
    def bound(self) -> float:
        """No solution has a larger Z than this and the incumbent."""
        known = max((part.bound for part, _ in self._open.values()), default=-inf)
        return max(known, self._incumbent.objective)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is still open, here or at a worker."""
        return tuple(part for part, _ in self._open.values())

    def run(self, stop: Callable[[], bool]) -> None:
        """Go on until nothing better is left within the gap, or `stop` says so."""
        incumbent = self._incumbent
        features = np.unique(np.concatenate([np.append(p.free, p.included) for p in self.parts]))
        whole = restricted(incumbent.instance, features)
        self._client.subscribe_topic(self._name, lambda event: self._found.put(event[1]))
        try:
            # As a task, and not as data: what a lost worker held can be made again.
            instance = self._client.submit(_same, whole, pure=False)
            while self._open and not stop():
                self._hear(features)
                incumbent.tighten(self.bound)
                if incumbent.proven:
                    return
                self._give_away(instance, features)
                self._take_back(features)
                note = f"{self.nodes} nodes, {len(self._open)} open, {len(self._running)} at work"
                incumbent.enter(Phase.BRANCH, note)
        except OSError as error:
            # What is known is here; without the scheduler there is nobody to go on.
            incumbent.note(f"the connection to the scheduler is lost: {error}")
            return
        finally:
            self._end()
        if not self._open:
            incumbent.tighten(incumbent.objective)

    def _hear(self, features: Any) -> None:
        """Judge what workers have found, and let all workers know."""
        before = self._incumbent.objective
        while True:
            try:
                self._incumbent.judge(features[np.array(self._found.get_nowait())])
            except Empty:
                break
        if self._incumbent.objective > before:
            self._tell_all(tell, self._incumbent.objective)

    def _give_away(self, instance: Any, features: Any) -> None:
        """Give every idle worker the part with the highest bound that nobody works on."""
        incumbent = self._incumbent
        at_work = set(self._running.values())
        waiting = [
            number
            for number, (part, _) in self._open.items()
            if number not in at_work
            and self._losses.get(number, 0) < MOST_LOSSES
            and not incumbent.closes(part.bound)
        ]
        workers = sum(self._client.nthreads().values())
        enough = len(waiting) >= self._slices.parts_per_worker * workers
        idle = max(0, workers - len(at_work))
        for number in nlargest(idle, waiting, key=lambda number: self._open[number][0].bound):
            part, seconds = self._open[number]
            seconds = max(seconds, self._slices.seconds if enough else 0.0)
            order = Order(
                self._name,
                _inside(part, features),
                incumbent.objective,
                min(
                    seconds, inf if incumbent.clock.remaining is None else incumbent.clock.remaining
                ),
                self._most_selections,
            )
            future = self._client.submit(work_for_scheduler, instance, order, pure=False)
            self._running[future] = number
            future.add_done_callback(lambda future: self._done.set())

    def _take_back(self, features: Any) -> None:
        """Wait a little for a worker to be done; put what it left in the place of its part."""
        if not self._running:
            if not any(self._losses.get(n, 0) < MOST_LOSSES for n in self._open):
                raise SolverFailure(
                    "The cluster has lost its workers with every part that is open."
                )
            time.sleep(PAUSE)
            return
        self._done.wait(PAUSE)
        self._done.clear()
        for future in [one for one in self._running if one.done()]:
            number = self._running[future]
            outcome = _result(future)
            if outcome is None:
                self._losses[number] = self._losses.get(number, 0) + 1
            else:
                self._replace(number, outcome, features)
            del self._running[future]

    def _replace(self, number: int, outcome: Outcome, features: Any) -> None:
        self.nodes += outcome.nodes
        if outcome.selection is not None:
            self._found.put(outcome.selection.tolist())
            self._hear(features)
        rest, seconds = dict(self._open), self._open[number][1]
        del rest[number]
        # What came back in one piece was perhaps too much for its time.
        seconds = 2.0 * seconds if len(outcome.parts) == 1 else self._slices.few_seconds
        for part in outcome.parts:
            if part.bound > self._incumbent.objective:
                whole = Part(features[part.free], features[part.included], part.bound)
                rest[next(self._number)] = whole, seconds
        self._open = rest

    def _tell_all(self, what: Callable[..., None], *arguments: Any) -> None:
        """Run a function at every worker; one that is lost in this moment needs no news."""
        self._client.run(what, self._name, *arguments, on_error="ignore")

    def _end(self) -> None:
        """Let the workers stop; what they were doing stays open."""
        running, self._running = list(self._running), {}
        with suppress(OSError):  # where the scheduler is gone
            self._tell_all(cancel)
            self._client.unsubscribe_topic(self._name)
            self._client.cancel(running, force=True)
            self._tell_all(forget)


def _same(instance: Any) -> Any:
    return instance


def _inside(part: Part, features: Any) -> Part:
    """Return a part in terms of the features that the workers know."""
    free, included = (np.searchsorted(features, some) for some in (part.free, part.included))
    return Part(free, included, part.bound)


def _result(future: Any) -> Outcome | None:
    """Return what a worker has sent, or None where it is lost."""
    from distributed import CancelledError, KilledWorker

    try:
        outcome: Outcome = future.result()
    except (KilledWorker, CancelledError):
        return None
    except QpoptError:
        raise
    except Exception as error:
        raise SolverFailure(f"A worker failed: {type(error).__name__}: {error}") from error
    return outcome
