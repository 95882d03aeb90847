"""What a worker does: it branches on one part of a proof for a while and hands the rest back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from qpopt.control.blas import one_blas_thread
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.problem.instance import Instance
from qpopt.problem.subproblem import Indices, Part
from qpopt.proofs.node import Node
from qpopt.proofs.tree import Tree


@dataclass
class News:
    """What a worker has been told of a proof: the Z of a solution, and that nobody waits for it."""

    objective: float = -inf
    cancelled: bool = False


_news: dict[str, News] = {}
"""By the name of the proof; there may be several on one cluster."""


class Order(NamedTuple):
    """What is asked of a worker.

    Parameters
    ----------
    proof
        The name of the proof.
    part
        The selections to work on.
    objective
        The Z of a known solution: only better ones are of interest.
    seconds
        How long to work.
    most_selections
        Parts with fewer selections may be enumerated.
    """

    proof: str
    part: Part
    objective: float
    seconds: float
    most_selections: int


class Outcome(NamedTuple):
    """What came of an order.

    Parameters
    ----------
    parts
        What is left: nothing else of the part is better than the best solution known.
    selection
        The best selection that was found and is better than what was known; None without one.
    nodes
        How many nodes were looked at.
    seconds
        How long it took.
    """

    parts: tuple[Part, ...]
    selection: Indices | None
    nodes: int
    seconds: float


def tell(proof: str, objective: float) -> None:
    """Let this process know the Z of a solution that was found elsewhere."""
    news = _news.setdefault(proof, News())
    news.objective = max(news.objective, objective)


def cancel(proof: str) -> None:
    """Let this process end what it does for a proof."""
    _news.setdefault(proof, News()).cancelled = True


def forget(proof: str) -> None:
    """Drop what this process knows of a proof."""
    _news.pop(proof, None)


def work_on(
    instance: Instance, order: Order, report: Callable[[Indices], None] = lambda selection: None
) -> Outcome:
    """Branch on a part until nothing is left of it, its time is up or nobody waits for it.

    Parameters
    ----------
    instance
        The instance.
    order
        What to do.
    report
        Told of every better selection at once.
    """
    tell(order.proof, order.objective)
    news = _news[order.proof]
    limits = Limits(order.seconds, gap=0.0, threads=1)
    incumbent = Incumbent(instance, limits, objective=news.objective)
    tree = Tree(incumbent, [Node(instance, *order.part)], order.most_selections)
    reported = -inf

    def stop() -> bool:
        nonlocal reported
        incumbent.learn(news.objective)
        if incumbent.best is not None and incumbent.objective > reported:
            reported = incumbent.objective
            report(incumbent.best.selection)
        return incumbent.clock.over or news.cancelled

    with one_blas_thread():
        tree.run(stop)
    selection = None if incumbent.best is None else incumbent.best.selection
    left = tuple(part for part in tree.parts if part.bound > incumbent.objective)
    return Outcome(left, selection, tree.nodes, incumbent.clock.seconds)


def work_for_scheduler(instance: Instance, order: Order) -> Outcome:
    """Carry out an order as a task of dask; better selections go to the client as events."""
    from distributed import get_worker

    worker = get_worker()
    return work_on(
        instance, order, lambda selection: worker.log_event(order.proof, selection.tolist())
    )
