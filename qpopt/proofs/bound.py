"""bound: a proven upper bound on Z, without a solve."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from qpopt.control.events import OnEvent
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import TIME_LIMIT, Limits
from qpopt.control.progress import following
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import TracePoint
from qpopt.problem.subproblem import subproblem
from qpopt.problem.validation import number, one_of
from qpopt.proofs.certificate import Certificate
from qpopt.proofs.driver import Proof
from qpopt.proofs.params import Share
from qpopt.proofs.phases.bounding import Linear, Root
from qpopt.proofs.phases.searching import Price

KINDS = ("best", "semidefinite", "cliques", "thresholds")

WHOLE = Share(1.0, inf)


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

    Examples
    --------
    >>> import qpopt
    >>> instance = qpopt.generate(12, 6, 5, 2)
    >>> found = qpopt.bound(instance, time_limit=5)
    >>> found.value >= qpopt.solve(instance).objective
    True
    """
    one_of("kind", kind, KINDS)
    limits = Limits(time_limit)
    if objective is not None:
        number("objective", objective, most=sys.float_info.max)
    scaling = scaled(instance)
    with following(progress) as on_event:
        incumbent = Incumbent(
            scaling.instance,
            limits,
            objective=-inf if objective is None else scaling.into(objective),
            on_event=on_event,
            scaling=scaling,
        )
        phases = _phases(scaling.instance, kind)
        # Cliques have no place in a certificate.
        proof = Proof(incumbent, recorded=kind != "cliques")
        incumbent.run(lambda: proof.run(phases))
    known = incumbent.solution()
    certificate = None
    if proof.record is not None and incumbent.bound < inf:
        found = Certificate.of(proof.record, incumbent.objective, incumbent.bound)
        certificate = found.about(scaling) if found.bound < inf else None
    value, trace = inf if known.bound is None else known.bound, tuple(known.trace)
    interrupted = incumbent.interrupted
    return Bound(value, kind, known.seconds, trace, proof.n_free, certificate, interrupted)


def _phases(instance: Instance, kind: str) -> list[Callable[[Proof], None]]:
    root = Root(branches=False)
    if kind == "semidefinite" or not subproblem(instance).n_select:
        return [Price(), root]
    if kind == "best" and instance.R.any():
        return [Price(), Linear(), root]
    return [Price(), Linear(cliques=kind == "cliques", share=WHOLE)]
