"""bound: a proven upper bound on Z, without a solve."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from qpopt.control.events import Event, OnEvent, Phase
from qpopt.control.limits import TIME_LIMIT, Clock, Limits
from qpopt.control.progress import following
from qpopt.problem.instance import Instance
from qpopt.problem.solution import TracePoint
from qpopt.problem.subproblem import subproblem
from qpopt.problem.validation import number, one_of
from qpopt.proofs.certificate import Certificate
from qpopt.proofs.root import RootBound
from qpopt.relaxations.linear import LinearRelaxation

KINDS = ("best", "semidefinite", "cliques", "thresholds")

SHARE_OF_LINEAR = 0.1
"""The part of the time that the linear relaxation may take where a semidefinite one follows."""

STALLED = 1e-6
"""Relative improvement of the semidefinite bound below which, for some rounds, it is over."""

PATIENCE = 12


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
    time_limit: float | None = TIME_LIMIT,
    kind: str = "best",
    objective: float | None = None,
    progress: bool | OnEvent = False,
) -> Bound:
    """Prove an upper bound on the Z of every solution.

    Parameters
    ----------
    instance
        The instance.
    time_limit
        Seconds; None for no limit. Every moment's bound is valid; more time makes it tighter.
    kind
        `thresholds`: threshold and overlap cuts, redundancy counts as 0; `cliques`: with clique
        cuts on redundancy; `semidefinite`: the doubly non-negative relaxation with cuts on X;
        `best`: the first, then the last of these.
    objective
        The Z of a known solution: with it, features are removed that no better one contains.
    progress
        True shows a live line where there is a terminal; a function is called with every `Event`.

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
    limits = Limits(time_limit)
    if objective is not None:
        number("objective", objective)
    with following(progress) as on_event:
        run = _Run(instance, limits, kind, objective, on_event)
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
        limits: Limits,
        kind: str,
        objective: float | None,
        on_event: OnEvent | None,
    ) -> None:
        self.instance = instance
        self.clock = Clock(limits)
        self.kind = kind
        self.objective = -inf if objective is None else float(objective)
        self.on_event = on_event
        self.value = inf
        self.trace: list[TracePoint] = []
        self.interrupted = False
        self.n_free = subproblem(instance).n_free
        self.root: RootBound | None = None

    def prove(self) -> None:
        redundant = bool(self.instance.R.any())
        nothing_to_choose = subproblem(self.instance).n_select == 0
        if not nothing_to_choose and self.kind != "semidefinite":
            share = SHARE_OF_LINEAR if self.kind == "best" and redundant else 1.0
            self._linear(Clock(self.clock.share(share)))
        if nothing_to_choose or self.kind == "semidefinite" or (self.kind == "best" and redundant):
            self._semidefinite()

    def result(self) -> Bound:
        certificate = None
        if self.root is not None and self.root.bound <= self.value:
            certificate = self.root.certificate()
        return Bound(
            self.value,
            self.kind,
            self.clock.seconds,
            tuple(self.trace),
            self.n_free,
            certificate,
            self.interrupted,
        )

    def _linear(self, clock: Clock) -> None:
        relaxation = LinearRelaxation(subproblem(self.instance), cliques=self.kind == "cliques")
        self._note(Phase.LINEAR, relaxation.value().value, "thresholds")
        more = True
        while more and not clock.over:
            more = relaxation.advance(max(0.1, inf if clock.remaining is None else clock.remaining))
            found = relaxation.value()
            self._note(Phase.LINEAR, found.value, "linear relaxation")
            self.n_free = int((found.with_feature > self.objective).sum())

    def _semidefinite(self) -> None:
        self.root = RootBound(self.instance)
        self.root.know(self.objective)
        waiting = 0
        last = inf
        while not self.root.finished and not self.clock.over and waiting < PATIENCE:
            self.root.advance(lambda: self.clock.over)
            self._note(Phase.ROOT, self.root.bound, f"{self.root.n_free} features free")
            self.n_free = self.root.n_free
            value = self.root.latest
            if value == inf:
                continue  # not all features are in yet
            waiting = 0 if value < last - STALLED * abs(value) else waiting + 1
            last = min(last, value)
        self.root.finish()
        self._note(Phase.ROOT, self.root.bound, f"{self.root.n_free} features free")
        self.n_free = self.root.n_free

    def _note(self, phase: Phase, value: float, note: str) -> None:
        value = max(value, self.objective)
        if value < self.value:
            self.value = value
            self.trace.append(TracePoint(self.clock.seconds, None, value))
            if self.on_event is not None:
                self.on_event(Event(phase, self.trace[-1], note))
