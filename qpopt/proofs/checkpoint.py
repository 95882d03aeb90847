"""Checkpoint: what a proof has reached, so that a later solve can go on from there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from qpopt.problem import validation
from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import Scaling
from qpopt.problem.solution import Candidate
from qpopt.problem.subproblem import Indices, Part
from qpopt.proofs.certificate import packed, unpacked
from qpopt.proofs.record import Record

OUT, FREE, IN = 0, 1, 2

ROUNDING = 1e-9
"""By how much, relative to it, the recomputed objective may be smaller."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A solution, and the parts that are left besides it.

    Parameters
    ----------
    fingerprint, n_features
        What instance it is.
    best, objective
        The best solution known, and its Z.
    parts
        Whatever is in none of them is no better than `best`.
    record
        How that is proven, where it has been recorded.
    """

    fingerprint: str
    n_features: int
    best: Candidate
    objective: float
    parts: tuple[Part, ...]
    record: Record | None = None

    def about(self, scaling: Scaling) -> Checkpoint:
        """Return the same about the instance that was asked about, which is what is saved."""
        parts = (part._replace(bound=scaling.bound_back(part.bound)) for part in self.parts)
        return replace(
            self,
            fingerprint=scaling.original.fingerprint,
            objective=scaling.original.objective(*self.best).total,
            parts=tuple(parts),
        )

    def into(self, scaling: Scaling) -> Checkpoint:
        """Return the same about the instance that is worked on, as the record is already."""
        if self.record is not None:
            self.record.instance = scaling.instance
        parts = (part._replace(bound=scaling.bound_into(part.bound)) for part in self.parts)
        return replace(
            self,
            fingerprint=scaling.instance.fingerprint,
            objective=scaling.instance.objective(*self.best).total,
            parts=tuple(parts),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the checkpoint to one compressed .npz file."""
        state = np.full((len(self.parts), self.n_features), OUT, dtype=np.int8)
        for row, part in zip(state, self.parts, strict=True):
            row[part.free] = FREE
            row[part.included] = IN
        arrays: dict[str, Any] = {
            "state": state,
            "bounds": np.array([part.bound for part in self.parts], dtype=np.float64),
            "selection": np.asarray(self.best.selection, dtype=np.int64),
        }
        meta: dict[str, Any] = {"fingerprint": self.fingerprint, "objective": self.objective}
        if self.record is not None:
            items, values = zip(*self.record.items(), strict=True)
            meta["record"], steps = packed(items)
            meta["full"] = self.record.full
            arrays |= {**steps, "values": np.array(values, dtype=np.float64)}
        meta = plain(meta)
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
            state, bounds, selection = (arrays[one] for one in ("state", "bounds", "selection"))
            typed = type(claimed) is float and _fits(instance, state, bounds, selection)
            if not typed:
                raise InvalidFile(f"{path} is damaged: its content does not fit together.")
            # What a checkpoint leaves out counts as decided, and nothing in parts proves that.
            if meta.get("seal") != _seal(meta, arrays):
                raise InvalidFile(
                    f"{path} was changed after it was written; name another file to begin anew."
                )
            record = _record(instance, meta, arrays)
        best = _solution(instance, selection)
        if best is None:
            raise InvalidFile(f"{path} is damaged: its selection is none of this instance.")
        # The assignment was perhaps not the best one, as that of a start; now it is.
        objective = instance.objective(*best).total
        size = max(abs(objective), abs(claimed))
        if not objective >= claimed - ROUNDING * size:
            raise InvalidFile(f"{path} is damaged: its selection is worse than it says.")
        parts = tuple(
            Part(_where(row, FREE), _where(row, IN), float(bound))
            for row, bound in zip(state, bounds, strict=True)
        )
        for number, part in enumerate(parts):
            wrong = _impossible(instance, part)
            if not wrong and _overlaps(instance.n_select, state[:number], state[number]):
                wrong = "holds selections of an earlier one"
            if wrong:
                raise InvalidFile(f"{path} is damaged: part {number} {wrong}.")
        if record is not None and not record.full and not _known(record, parts):
            raise InvalidFile(f"{path} is damaged: its parts are not those of its proof.")
        return cls(instance.fingerprint, instance.n_features, best, objective, parts, record)


def _seal(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a digest of the content, which tells whether it was changed."""
    values = {name: meta.get(name) for name in ("fingerprint", "objective", "record", "full")}
    digest = sha256(json.dumps(values, sort_keys=True).encode())
    for name in sorted(set(arrays) - {"meta"}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _record(
    instance: Instance, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Record | None:
    """Return the record, if there is one; of a damaged one, what Python raises."""
    if meta.get("record") is None:
        return None
    items = unpacked(arrays, meta["record"])
    record = Record.of(instance, zip(items, arrays["values"].tolist(), strict=True))
    record.room.full = meta["full"] is True
    return record


def _known(record: Record, parts: Sequence[Part]) -> bool:
    """Tell whether parts are open ones of a record."""
    recorded = {_key(leaf.part) for leaf in record.open()}
    return all(_key(part) in recorded for part in parts)


def _key(part: Part) -> tuple[bytes, bytes]:
    return part.free.tobytes(), part.included.tobytes()


def _fits(
    instance: Instance, state: NDArray[Any], bounds: NDArray[Any], selection: NDArray[Any]
) -> bool:
    """Tell whether the arrays have their types, shapes and ranges."""
    return bool(
        state.dtype == np.int8
        and bounds.dtype == np.float64
        and selection.dtype == np.int64
        and bounds.ndim == 1
        and not np.isnan(bounds).any()
        and state.shape == (len(bounds), instance.n_features)
        and np.isin(state, (OUT, FREE, IN)).all()
        and selection.shape == (instance.n_select,)
    )


def _impossible(instance: Instance, part: Part) -> str:
    """Say what is wrong with the counts or the bound of a part, if anything is."""
    missing = instance.n_select - len(part.included)
    included = set(part.included.tolist())
    if not 0 <= missing <= len(part.free):
        return "holds no selection"
    if not set(instance.include) <= included:
        return "leaves out a feature that the instance includes"
    if set(instance.exclude) & (included | set(part.free.tolist())):
        return "holds a feature that the instance excludes"
    chosen = np.sort(np.concatenate([part.included, part.free[:missing]]))
    value = instance.objective(chosen, assign(instance.A, chosen, instance.n_per_class)).total
    gains = instance.n_classes * instance.n_per_class * float(np.abs(instance.A).max())
    if part.bound < value - ROUNDING * (abs(value) + gains):
        return "has a bound below the Z of one of its selections"
    return ""


def _overlaps(n_select: int, before: NDArray[np.int8], state: NDArray[np.int8]) -> bool:
    """Tell whether a part has a selection in common with one of those before it."""
    apart = ((before == IN) & (state == OUT)) | ((before == OUT) & (state == IN))
    needed = np.count_nonzero((before == IN) | (state == IN), axis=1)
    allowed = np.count_nonzero((before != OUT) & (state != OUT), axis=1)
    return bool((~apart.any(axis=1) & (needed <= n_select) & (n_select <= allowed)).any())


def _solution(instance: Instance, selection: Indices) -> Candidate | None:
    chosen = np.unique(selection)
    exist = np.isin(chosen, np.arange(instance.n_features)).all()
    if not exist or validation.misfit(instance, chosen):
        return None
    return Candidate(chosen, assign(instance.A, chosen, instance.n_per_class))


def _where(row: NDArray[np.int8], what: int) -> Indices:
    return np.flatnonzero(row == what).astype(np.int64)
