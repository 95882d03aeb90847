"""Proof: what is known, what is still open, and the phases that make it less.

Three lists of phases make the three proofs: `bound` and `certify` are a linear and a semidefinite
relaxation, `projected` searches before and branches after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from os import PathLike

from qpopt.control.blas import one_blas_thread
from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.errors import InvalidCertificate, InvalidFile
from qpopt.problem.assigning.relaxed import Multipliers, no_multipliers
from qpopt.problem.relaxing import relaxed
from qpopt.problem.subproblem import Indices, Part, subproblem
from qpopt.proofs.distributed.cluster_tree import ClusterTree
from qpopt.proofs.parallel.parallel_tree import ParallelTree
from qpopt.proofs.params import ProofParams, Share
from qpopt.proofs.record import Record, RecordedPart
from qpopt.proofs.resuming.checkpoint import Checkpoint
from qpopt.proofs.resuming.recheck import Rechecked, rechecked
from qpopt.proofs.root import RootBound
from qpopt.proofs.tree import Tree

DEFAULTS = ProofParams()

CHECKED_ALWAYS = 0.5
"""Seconds that a kept proof is checked for also where time is over."""

PAUSE_PER_SAVE = 10.0
"""A save that takes long comes less often: it takes no more than a part of the time."""


class Proof:
    """A proof under way.

    Parameters
    ----------
    incumbent
        Gets solutions and bounds.
    checkpoint
        Where `save` saves to, and the run now and then.
    params
        How time is divided.
    recorded
        Whether to prove everything in a way that a certificate can show.

    Attributes
    ----------
    instance
        What is bounded: the instance of the incumbent, or a plain one that bounds it.
    parts
        What is open: nothing outside them is better than the incumbent. Always replaced as a
        whole: an interruption must not find features in no part at all.
    aside
        Those of them that wait while a phase works on the others.
    record
        How everything is proven; None where nobody asks for that.
    root, tree
        What the phases of these names work on, once they have begun.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        *,
        checkpoint: str | PathLike[str] | None = None,
        params: ProofParams = DEFAULTS,
        recorded: bool = False,
    ) -> None:
        self.incumbent = incumbent
        self.params = params
        self.recorded = recorded
        self._checkpoint = checkpoint
        self.record: Record | None = None
        self.instance = incumbent.instance
        if incumbent.instance.demands:
            self.relax(no_multipliers(incumbent.instance))
        else:
            self._begin_record()
        self.root: RootBound | None = None
        self.tree: Tree | ParallelTree | ClusterTree | None = None
        whole = subproblem(self.instance)
        self.parts: tuple[Part, ...] = (Part(whole.free, whole.included, inf),)
        self.aside: tuple[Part, ...] = ()
        # What the file holds is more than what is known until all of it has been checked.
        self._file_holds_more = False
        self._saved_at = 0.0
        self._took = 0.0
        self._bound_saved = False

    def run(self, phases: Sequence[Callable[[Proof], None]]) -> None:
        """Go through the phases until the gap is closed or time is up.

        Without a solution every phase has its turn, however short.
        """
        with one_blas_thread():
            for phase in phases:
                if self.incumbent.infeasible:
                    return
                found = self.incumbent.best is not None
                if found and (self.incumbent.proven or self.incumbent.clock.over):
                    return
                phase(self)
                self.pause()

    def relax(self, by: Multipliers) -> None:
        """Bound the plain instance that these multipliers make, before anything is proven."""
        self.instance = relaxed(self.incumbent.instance, by)
        self._begin_record(by)

    def _begin_record(self, by: Multipliers | None = None) -> None:
        if self.recorded or self._checkpoint is not None:
            most = self.params.certificate_megabytes * 2**20
            self.record = Record(self.instance, most, by)

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
        between = max(self.params.seconds_between_saves, PAUSE_PER_SAVE * self._took)
        if first or seconds > self._saved_at + between:
            self._bound_saved = self._bound_saved or first
            try:
                self.save()
            except InvalidFile as error:
                # A full disk must not end the proof; the last save will tell.
                self.incumbent.note(str(error))
            self._saved_at = self.incumbent.clock.seconds
            self._took = self._saved_at - seconds
        return self.incumbent.clock.over

    def time(self, share: Share) -> float:
        """Return a share of the time that is left, in seconds."""
        seconds = self.incumbent.clock.share(*share).time_limit
        return inf if seconds is None else seconds

    def save(self) -> None:
        """Write the checkpoint, unless there is nothing worth keeping or it holds more already."""
        best, record = self.incumbent.best, self.record
        if best is None or record is None or self._checkpoint is None or self._file_holds_more:
            return
        items = tuple(item for item, _ in record.items())
        reached = Checkpoint(self.instance.fingerprint, best, self.incumbent.objective, items)
        reached.about(self.incumbent.scaling).save(self._checkpoint)

    def resume(self, reached: Checkpoint) -> Rechecked:
        """Take over what an earlier solve has proven as far as a check shows it; return that.

        Raises
        ------
        InvalidFile
            If what the checkpoint holds is no proof.
        """
        incumbent, n_steps = self.incumbent, len(reached.items)
        self._file_holds_more = True
        incumbent.offer(reached.best)
        incumbent.enter(Phase.VERIFY, f"checking a proof of {n_steps} steps")
        began = incumbent.clock.seconds
        try:
            found = rechecked(
                incumbent,
                reached.items,
                lambda: incumbent.clock.over and incumbent.clock.seconds > began + CHECKED_ALWAYS,
            )
        except InvalidCertificate as error:
            raise InvalidFile(
                f"{self._checkpoint} is damaged, its proof shows nothing; name another file to "
                f"begin anew. {error}"
            ) from None
        if self.record is not None:
            found.record.room.most = self.record.room.most
        self.record = found.record
        self.parts = found.open(incumbent.objective)
        incumbent.floor = found.settled
        incumbent.tighten(found.bound(incumbent.objective))
        self._file_holds_more = not found.complete
        seconds = incumbent.clock.seconds - began
        note = f"{n_steps} steps checked in {seconds:.1f} s, {len(self.parts)} parts open"
        if found.anew:
            note += f"; {found.anew} that were said to be done are not shown to be"
        incumbent.note(note)
        return found
