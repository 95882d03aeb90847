"""Checkpoint: what a proof has reached, so that a later solve can go on from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidFile
from qpopt.io.archive import opened_archive, save_archive
from qpopt.problem import validation
from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
from qpopt.problem.scaling import Scaling
from qpopt.problem.solution import Candidate
from qpopt.problem.subproblem import Indices, Part

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
    """

    fingerprint: str
    n_features: int
    best: Candidate
    objective: float
    parts: tuple[Part, ...]

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
        """Return the same about the instance that is worked on."""
        parts = (part._replace(bound=scaling.bound_into(part.bound)) for part in self.parts)
        return replace(
            self,
            fingerprint=scaling.instance.fingerprint,
            objective=scaling.instance.objective(*self.best).total,
            parts=tuple(parts),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the checkpoint to one compressed .npz file."""
        meta = {"fingerprint": self.fingerprint, "objective": self.objective}
        state = np.full((len(self.parts), self.n_features), OUT, dtype=np.int8)
        for row, part in zip(state, self.parts, strict=True):
            row[part.free] = FREE
            row[part.included] = IN
        bounds = np.array([part.bound for part in self.parts], dtype=np.float64)
        selection = np.asarray(self.best.selection, dtype=np.int64)
        seal = _seal(self.fingerprint, self.objective, state, bounds, selection)
        arrays = {"state": state, "bounds": bounds, "selection": selection}
        save_archive(path, "checkpoint", {**meta, "seal": seal}, arrays)

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
            claimed, seal = meta["objective"], meta.get("seal")
            state, bounds, selection = (archive[one] for one in ("state", "bounds", "selection"))
            typed = type(claimed) is float and _fits(instance, state, bounds, selection)
            if not typed:
                raise InvalidFile(f"{path} is damaged: its content does not fit together.")
            # What a checkpoint leaves out counts as decided, and nothing in it proves that.
            if seal != _seal(meta["fingerprint"], claimed, state, bounds, selection):
                raise InvalidFile(
                    f"{path} was changed after it was written; name another file to begin anew."
                )
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
        return cls(instance.fingerprint, instance.n_features, best, objective, parts)


def _seal(
    fingerprint: str,
    objective: float,
    state: NDArray[np.int8],
    bounds: NDArray[np.float64],
    selection: Indices,
) -> str:
    """Return a digest of the content, which tells whether it was changed."""
    digest = sha256(f"{fingerprint} {float(objective)!r} {state.shape}".encode())
    for array in (state, bounds, selection):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


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
