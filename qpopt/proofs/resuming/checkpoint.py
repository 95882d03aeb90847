"""Checkpoint: what a proof has reached, so that a later solve can go on from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidFile
from qpopt.io.archive import opened_archive, save_archive
from qpopt.io.json_values import plain
from qpopt.problem.assignment import assign
from qpopt.problem.demands.fulfilment import misfit
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import Scaling
from qpopt.problem.solution import Candidate
from qpopt.problem.subproblem import Indices
from qpopt.proofs.certificate import packed, unpacked
from qpopt.proofs.record import Item

ROUNDING = 1e-9
"""By how much, relative to it, the recomputed objective may be smaller."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A solution, and the proof so far.

    What the proof shows is not kept: `rechecked` finds out, and believes nothing else.

    Parameters
    ----------
    fingerprint
        What instance it is.
    best, objective
        The best solution known, and its Z.
    items
        The proof, as a certificate has it, about the instance that is worked on.
    """

    fingerprint: str
    best: Candidate
    objective: float
    items: tuple[Item, ...] = ()

    def about(self, scaling: Scaling) -> Checkpoint:
        """Return the same about the instance that was asked about, which is what is saved."""
        original = scaling.original
        return replace(
            self,
            fingerprint=original.fingerprint,
            objective=original.objective(*self.best).total,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the checkpoint to one compressed .npz file."""
        steps, arrays = packed(self.items)
        arrays["selection"] = np.asarray(self.best.selection, dtype=np.int64)
        meta = plain({"fingerprint": self.fingerprint, "objective": self.objective, "steps": steps})
        save_archive(path, "checkpoint", {**meta, "seal": _seal(meta, arrays)}, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str], instance: Instance) -> Checkpoint | None:
        """Read the checkpoint of an instance, or return None where there is no file yet.

        Raises
        ------
        InvalidFile
            If the file is damaged, no checkpoint, or that of another instance.
        """
        if not Path(path).exists():
            return None
        with opened_archive(path, "checkpoint") as (archive, meta):
            if meta["fingerprint"] != instance.fingerprint:
                raise InvalidFile(
                    f"{path} is the checkpoint of another instance; name another file to begin "
                    "anew."
                )
            claimed, arrays = meta["objective"], {name: archive[name] for name in archive.files}
            selection = arrays["selection"]
            typed = selection.dtype == np.int64 and selection.shape == (instance.n_select,)
            if type(claimed) is not float or not typed:
                raise InvalidFile(f"{path} is damaged: its content does not fit together.")
            # A seal can be made anew: it tells damage, and no more.
            if meta.get("seal") != _seal(meta, arrays):
                raise InvalidFile(
                    f"{path} was changed after it was written; name another file to begin anew."
                )
            items = unpacked(arrays, meta["steps"])
        best = _solution(instance, selection)
        if best is None:
            raise InvalidFile(f"{path} is damaged: its selection is none of this instance.")
        # The assignment was perhaps not the best one, as that of a start; now it is.
        objective = instance.objective(*best).total
        size = max(abs(objective), abs(claimed))
        if not objective >= claimed - ROUNDING * size:
            raise InvalidFile(f"{path} is damaged: its selection is worse than it says.")
        return cls(instance.fingerprint, best, objective, items)


def _seal(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a digest of the content, which tells whether it was changed."""
    values = {name: meta.get(name) for name in ("fingerprint", "objective", "steps")}
    digest = sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(set(arrays) - {"meta"}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _solution(instance: Instance, selection: Indices) -> Candidate | None:
    chosen = np.unique(selection)
    exist = np.isin(chosen, np.arange(instance.n_features)).all()
    if not exist or misfit(instance, chosen):
        return None
    return Candidate(chosen, assign(instance.A, chosen, instance.n_per_class))
