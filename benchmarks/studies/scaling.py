"""How far a proof scales on a cluster: its parts, recorded, given to so many workers."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.library.library import Library
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.problem.scaling import scaled
from qpopt.problem.subproblem import Part
from qpopt.proofs.distributed.cluster_tree import ClusterTree, Slices
from qpopt.proofs.distributed.worker import Order, Outcome, work_for_scheduler, work_on
from qpopt.proofs.driver import Proof
from qpopt.proofs.phases.bounding import Linear, Root
from qpopt.proofs.phases.searching import Search

INSTANCE = "clustered-64x24-r10"
WORKERS = (1, 8, 64, 512)
SLICE = 0.5
"""Seconds of a part, so that there are enough of them for many workers."""


class Task(NamedTuple):
    """One part as a worker had it: the task that left it over, its bound, how long it took."""

    parent: int | None
    bound: float
    seconds: float


class Recorder:
    """Stands for the client of a cluster with one worker, and records what it does.

    An order is carried out where it is given, so the parts come one after the other, and none is
    worked on for nothing because a better solution comes later.
    """

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self._left_by: dict[bytes, int] = {}
        self._topics: dict[str, Callable[[Any], None]] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any, pure: bool) -> Done:
        """Carry out an order, or return what else is asked for."""
        if function is not work_for_scheduler:
            return Done(function(*arguments))
        instance, order = arguments
        return Done(self._work(instance.result(), order))

    def nthreads(self) -> dict[str, int]:
        """Return the workers: one."""
        return {"here": 1}

    def run(self, function: Callable[..., Any], *arguments: Any, on_error: str) -> None:
        """Call a function at the worker, which is here."""
        function(*arguments)

    def cancel(self, futures: Sequence[Done], *, force: bool) -> None:
        """Do nothing: what was given is done."""

    def subscribe_topic(self, topic: str, handler: Callable[[Any], None]) -> None:
        """Remember who wants to hear of better solutions."""
        self._topics[topic] = handler

    def unsubscribe_topic(self, topic: str) -> None:
        """Forget it."""
        del self._topics[topic]

    def _work(self, instance: Any, order: Order) -> Outcome:
        tell = self._topics[order.proof]
        outcome = work_on(instance, order, lambda found: tell((0.0, found.tolist())))
        parent = self._left_by.get(_name(order.part))
        for part in outcome.parts:
            self._left_by[_name(part)] = len(self.tasks)
        self.tasks.append(Task(parent, order.part.bound, outcome.seconds))
        return outcome


class Done:
    """The future of what is done already."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self) -> Any:
        """Return what came of it."""
        return self._value

    def done(self) -> bool:
        """Whether it is done."""
        return True

    def add_done_callback(self, function: Callable[[Done], None]) -> None:
        """Call a function at once."""
        function(self)


def simulate(tasks: Sequence[Task], workers: int, overhead: float) -> float:
    """Return the seconds until all tasks are done: whoever is idle takes the highest bound there.

    Parameters
    ----------
    tasks
        What is to be done; none can begin before its parent is done.
    workers
        How many there are.
    overhead
        Seconds that handing over one task takes.
    """
    children: dict[int | None, list[int]] = {}
    for number, task in enumerate(tasks):
        children.setdefault(task.parent, []).append(number)
    ready = [(-tasks[number].bound, number) for number in children.get(None, [])]
    heapq.heapify(ready)
    busy: list[tuple[float, int]] = []
    now = 0.0
    while ready or busy:
        while ready and len(busy) < workers:
            _, number = heapq.heappop(ready)
            heapq.heappush(busy, (now + overhead + tasks[number].seconds, number))
        now, number = heapq.heappop(busy)
        for child in children.get(number, []):
            heapq.heappush(ready, (-tasks[child].bound, child))
    return now


def longest_chain(tasks: Sequence[Task], overhead: float) -> float:
    """Return the seconds of the longest chain of tasks, which no number of workers shortens."""
    ends: list[float] = []
    for task in tasks:
        before = 0.0 if task.parent is None else ends[task.parent]
        ends.append(before + overhead + task.seconds)
    return max(ends, default=0.0)


def record(name: str, seconds: float) -> tuple[float, list[Task], bool]:
    """Prove an instance here; return the seconds before branching, the parts, and whether all."""
    scaling = scaled(Library().instance(name))
    incumbent = Incumbent(scaling.instance, Limits(seconds, threads=1), scaling=scaling)
    proof, recorder = Proof(incumbent), Recorder()
    proof.run([Search(), Linear(), Root()])
    before = incumbent.clock.seconds
    tree = ClusterTree(
        incumbent,
        proof.parts,
        proof.params.most_selections,
        recorder,
        Slices(SLICE, SLICE),
    )
    incumbent.run(lambda: tree.run(proof.pause))
    return before, recorder.tasks, incumbent.proven


def main(
    instance: Annotated[str, typer.Option(help="An instance of the library.")] = INSTANCE,
    seconds: Annotated[float, typer.Option(help="Time limit of the proof.")] = 300.0,
    overhead: Annotated[float, typer.Option(help="Seconds to hand over one part.")] = 0.02,
) -> None:
    """Record the parts of a proof and simulate how long it takes on a cluster."""
    before, tasks, proven = record(instance, seconds)
    work = sum(task.seconds + overhead for task in tasks)
    chain = longest_chain(tasks, overhead)
    table = Table("workers", "seconds", "at most", "times as fast", "with what comes before")
    for workers in WORKERS:
        taken = simulate(tasks, workers, overhead)
        most = chain + (work - chain) / workers
        table.add_row(
            str(workers),
            f"{taken:.1f}",
            f"{most:.1f}",
            f"{work / taken:.1f}" if taken else "",
            f"{(before + work) / (before + taken):.1f}",
        )
    console = Console()
    state = "proven" if proven else "not proven within the limit; its parts so far"
    console.print(
        f"{instance}: {state}. {before:.1f} s before branching, at the client alone; then "
        f"{len(tasks)} parts of {work / max(1, len(tasks)):.2f} s on average."
    )
    console.print(table)
    console.print(
        f"With P workers, T(P) ≤ T∞ + (T1 − T∞) / P, where T1 = {work:.1f} s is all work and "
        f"T∞ = {chain:.1f} s the longest chain of parts, each left over by the one before. More "
        f"than T1 / T∞ = {work / chain if chain else 1:.0f} workers do not help."
    )


def _name(part: Part) -> bytes:
    return part.free.tobytes() + b"|" + part.included.tobytes()
