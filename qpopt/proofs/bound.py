"""bound: a proven upper bound on Z, without a solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter

from qpopt.problem.arguments import number, one_of
from qpopt.problem.instance import Instance
from qpopt.problem.solution import TracePoint
from qpopt.problem.subproblem import reduce
from qpopt.proofs.certificate import Certificate
from qpopt.proofs.root import RootBound
from qpopt.relaxations.linear import ProjectedLP

KINDS = ("best", "semidefinite", "cliques", "thresholds")

SHARE_OF_LINEAR = 0.1
"""The part of the time that the linear relaxation may take where a semidefinite one follows."""

STALLED = 1e-6
"""Relative improvement of the semidefinite bound below which, for some rounds, it is over."""

PATIENCE = 12

Progress = Callable[[TracePoint, str], None]


@dataclass(frozen=True, eq=False)
class Bound:
    """A proven upper bound on the Z of every solution of an instance.

    Parameters
    ----------
    value
        The bound.
    kind
        How it was found.
    seconds
        Wall time.
    trace
        The bound over time.
    n_free
        How many features are undecided: the others are in no better solution than the one whose
        objective was given, or in all of them.
    certificate
        The proof, for kinds that have one.
    interrupted
        Whether Ctrl-C ended it early.
    """

    value: float
    kind: str
    seconds: float
    trace: tuple[TracePoint, ...]
    n_free: int
    certificate: Certificate | None
    interrupted: bool


def bound(
    instance: Instance,
    *,
    time_limit: float = 60.0,
    kind: str = "best",
    objective: float | None = None,
    progress: Progress | None = None,
) -> Bound:
    """Prove an upper bound on the Z of every solution.

    Parameters
    ----------
    instance
        The instance.
    time_limit
        Seconds. Every moment's bound is valid; more time makes it tighter.
    kind
        `thresholds`: threshold and overlap cuts, redundancy counts as 0; `cliques`: with clique
        cuts on redundancy; `semidefinite`: the doubly non-negative relaxation with cuts on X;
        `best`: the first, then the last of these.
    objective
        The Z of a known solution: with it, features are removed that no better one contains.
    progress
        Called with every better bound and a note.

    Returns
    -------
    Bound
        The bound with its certificate. Ctrl-C returns what is proven until then.

    Raises
    ------
    InvalidArgument
        If the kind is unknown or a number is out of range.
    """
    one_of("kind", kind, KINDS)
    number("time_limit", time_limit, least=0.0, finite=False)
    if objective is not None:
        number("objective", objective)
    run = _Run(instance, float(time_limit), kind, objective, progress)
    try:
        run.prove()
    except KeyboardInterrupt:
        run.interrupted = True
    return run.result()


class _Run:
    """One call of `bound`."""

    def __init__(
        self,
        instance: Instance,
        time_limit: float,
        kind: str,
        objective: float | None,
        progress: Progress | None,
    ) -> None:
        self.instance = instance
        self.time_limit = time_limit
        self.kind = kind
        self.objective = -inf if objective is None else float(objective)
        self.progress = progress
        self.value = inf
        self.trace: list[TracePoint] = []
        self.interrupted = False
        self.n_free = reduce(instance).n_free
        self.root: RootBound | None = None
        self._began = perf_counter()

    @property
    def seconds(self) -> float:
        return perf_counter() - self._began

    def over(self) -> bool:
        return self.seconds >= self.time_limit

    def prove(self) -> None:
        redundant = bool(self.instance.R.any())
        nothing_to_choose = reduce(self.instance).n_select == 0
        if not nothing_to_choose and self.kind != "semidefinite":
            share = SHARE_OF_LINEAR if self.kind == "best" and redundant else 1.0
            self._linear(share * self.time_limit)
        if nothing_to_choose or self.kind == "semidefinite" or (self.kind == "best" and redundant):
            self._semidefinite()

    def result(self) -> Bound:
        certificate = None
        if self.root is not None and self.root.bound <= self.value:
            certificate = self.root.certificate()
        return Bound(
            self.value,
            self.kind,
            self.seconds,
            tuple(self.trace),
            self.n_free,
            certificate,
            self.interrupted,
        )

    def _linear(self, seconds: float) -> None:
        relaxation = ProjectedLP(reduce(self.instance), cliques=self.kind == "cliques")
        self._note(relaxation.value().value, "thresholds")
        until = self.seconds + seconds
        more = True
        while more and self.seconds < until:
            more = relaxation.advance(max(0.1, until - self.seconds))
            found = relaxation.value()
            self._note(found.value, "linear relaxation")
            self.n_free = int((found.with_feature > self.objective).sum())

    def _semidefinite(self) -> None:
        self.root = RootBound(self.instance)
        self.root.know(self.objective)
        waiting = 0
        last = inf
        while not self.root.finished and not self.over() and waiting < PATIENCE:
            self.root.advance(self.over)
            self._note(self.root.bound, f"{self.root.n_free} features free")
            self.n_free = self.root.n_free
            value = self.root.latest
            if value == inf:
                continue  # not all features are in yet
            waiting = 0 if value < last - STALLED * abs(value) else waiting + 1
            last = min(last, value)
        self.root.finish()
        self._note(self.root.bound, f"{self.root.n_free} features free")
        self.n_free = self.root.n_free

    def _note(self, value: float, note: str) -> None:
        value = max(value, self.objective)
        if value < self.value:
            self.value = value
            self.trace.append(TracePoint(self.seconds, None, value))
            if self.progress is not None:
                self.progress(self.trace[-1], note)
