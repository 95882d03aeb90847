"""Proof: what is known, what is still open, and the phases that make it less.

Three lists of phases make the three proofs: `bound` and `certify` are a linear and a semidefinite
relaxation, `projected` searches before and branches after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from os import PathLike

from qpopt.control.blas import one_blas_thread
from qpopt.control.incumbent import Incumbent
from qpopt.errors import InvalidFile
from qpopt.problem.subproblem import Indices, Part, subproblem
from qpopt.proofs.checkpoint import Checkpoint
from qpopt.proofs.distributed.cluster_tree import ClusterTree
from qpopt.proofs.parallel.parallel_tree import ParallelTree
from qpopt.proofs.params import ProofParams, Share
from qpopt.proofs.record import Record, RecordedPart
from qpopt.proofs.root import RootBound
from qpopt.proofs.tree import Tree

DEFAULTS = ProofParams()


class Proof:
    """A proof under way.

    Parameters
    ----------
    incumbent
        Gets solutions and bounds.
    reached
        What an earlier solve has left open.
    checkpoint
        Where `save` saves to, and the run now and then.
    params
        How time is divided.
    recorded
        Whether to keep what a certificate needs; a proof that began so always goes on so.

    Attributes
    ----------
    parts
        What is open: nothing outside them is better than the incumbent. Always replaced as a
        whole: an interruption must not find features in no part at all.
    aside
        Those of them that wait while a phase works on the others.
    record
        How everything is proven; None where that is not kept.
    root, tree
        What the phases of these names work on, once they have begun.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        reached: Checkpoint | None = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        params: ProofParams = DEFAULTS,
        recorded: bool = False,
    ) -> None:
        self.instance = incumbent.instance
        self.incumbent = incumbent
        self.params = params
        self.root: RootBound | None = None
        self.tree: Tree | ParallelTree | ClusterTree | None = None
        whole = subproblem(self.instance)
        self.parts: tuple[Part, ...] = (Part(whole.free, whole.included, inf),)
        self.aside: tuple[Part, ...] = ()
        most_bytes = params.certificate_megabytes * 2**20
        self.record = Record(self.instance, most_bytes) if recorded else None
        if reached is not None:
            self.parts = reached.parts
            self.record = reached.record
            if self.record is not None:
                self.record.room.most = most_bytes
        self._reached = reached
        self._checkpoint = checkpoint
        self._saved_at = 0.0
        self._bound_saved = False

    def run(self, phases: Sequence[Callable[[Proof], None]]) -> None:
        """Go through the phases until the gap is closed or time is up.

        Without a solution every phase has its turn, however short.
        """
        if self._reached is not None:
            self._resume(self._reached)
        with one_blas_thread():
            for phase in phases:
                found = self.incumbent.best is not None
                if found and (self.incumbent.proven or self.incumbent.clock.over):
                    return
                phase(self)
                self.pause()

    @property
    def n_free(self) -> int:
        """How many features are undecided in some part."""
        return len({d for part in self.parts for d in part.free.tolist()})

    @property
    def recording(self) -> Record | None:
        """The record, as long as there is one that everything goes into."""
        return None if self.record is None or self.record.full else self.record

    @property
    def leaf(self) -> RecordedPart | None:
        """The record of the only part that is open, if there is one."""
        leaves = [] if self.recording is None else self.recording.open()
        if len(leaves) > 1:
            leaves = [leaf for leaf in leaves if leaf.part.bound > self.incumbent.objective]
        return leaves[0].record if len(leaves) == 1 else None

    def open(self) -> list[tuple[Part, RecordedPart | None]]:
        """Return what is open now, each part with its record, if there is one."""
        if self.recording is None:
            parts = self.parts if self.tree is None else self.tree.parts
            return [(part, None) for part in parts]
        # Whatever is in the record has been decided, also where an interruption came at once.
        leaves = self.recording.open() if self.parts else []
        objective = self.incumbent.objective
        return [(leaf.part, leaf.record) for leaf in leaves if leaf.part.bound > objective]

    def narrow(self, free: Indices, included: Indices, bound: float = inf) -> None:
        """Go on with one part: of what is not set aside, nothing else is better."""
        bound = min(bound, self.incumbent.bound)
        self.parts = (Part(free, included, bound), *self.aside)

    def set_aside(self, parts: Sequence[Part]) -> None:
        """Go on with the first of some parts; the others wait."""
        self.aside = (*parts[1:], *self.aside)
        self.parts = (parts[0], *self.aside)

    @property
    def bound_aside(self) -> float:
        """Nothing that waits is better."""
        return max((part.bound for part in self.aside), default=-inf)

    def pause(self) -> bool:
        """Save if it is time to; tell whether the time limit is reached."""
        # The first bound is kept at once, whatever comes after it.
        known = self.incumbent.best is not None and self.incumbent.bound < inf
        first = known and not self._bound_saved
        seconds = self.incumbent.clock.seconds
        if first or seconds > self._saved_at + self.params.seconds_between_saves:
            self._bound_saved = self._bound_saved or first
            try:
                self.save()
            except InvalidFile as error:
                # A full disk must not end the proof; the last save will tell.
                self.incumbent.note(str(error))
            self._saved_at = self.incumbent.clock.seconds
        return self.incumbent.clock.over

    def time(self, share: Share) -> float:
        """Return a share of the time that is left, in seconds."""
        seconds = self.incumbent.clock.share(*share).time_limit
        return inf if seconds is None else seconds

    def save(self) -> None:
        """Write the checkpoint, unless there is nothing worth keeping or it holds more already."""
        best, bound = self.incumbent.best, self.incumbent.bound
        before_resuming = self._reached is not None and (
            self.incumbent.objective < self._reached.objective
        )
        if best is None or before_resuming or self._checkpoint is None:
            return
        open_ = self.open() if bound > self.incumbent.objective else []
        parts = [part._replace(bound=min(part.bound, bound)) for part, _ in open_]
        # A part whose features were decided against each other holds nothing.
        n_select = self.instance.n_select
        kept = (part for part in parts if 0 <= n_select - len(part.included) <= len(part.free))
        fingerprint, n_features = self.instance.fingerprint, self.instance.n_features
        objective = self.incumbent.objective
        reached = Checkpoint(fingerprint, n_features, best, objective, tuple(kept), self.record)
        reached.about(self.incumbent.scaling).save(self._checkpoint)

    def _resume(self, reached: Checkpoint) -> None:
        """Take over what an earlier solve knew."""
        self.incumbent.offer(reached.best)
        known = max((part.bound for part in reached.parts), default=reached.objective)
        self.incumbent.tighten(max(known, reached.objective))
