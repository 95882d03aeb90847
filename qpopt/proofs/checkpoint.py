"""Checkpoint: what a proof has reached, so that a later solve can go on from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

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
        bounds = np.array([part.bound for part in self.parts])
        arrays = {"state": state, "bounds": bounds, "selection": self.best.selection}
        save_archive(path, "checkpoint", meta, arrays)

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
            claimed = float(meta["objective"])
            bounds, state = archive["bounds"], archive["state"]
            best = _solution(instance, archive["selection"])
            fits = (
                bounds.ndim == 1
                and not np.isnan(bounds).any()
                and state.shape == (len(bounds), instance.n_features)
                and np.isin(state, (OUT, FREE, IN)).all()
            )
            if best is None or not fits:
                raise InvalidFile(f"{path} is damaged: its content does not fit together.")
            # The assignment was perhaps not the best one, as that of a start; now it is.
            objective = instance.objective(*best).total
            if not objective >= claimed - ROUNDING * max(1.0, abs(claimed)):
                raise InvalidFile(f"{path} is damaged: its content does not fit together.")
            parts = tuple(
                Part(_where(row, FREE), _where(row, IN), float(bound))
                for row, bound in zip(state, bounds, strict=True)
            )
        return cls(instance.fingerprint, instance.n_features, best, objective, parts)


def _solution(instance: Instance, selection: Indices) -> Candidate | None:
    chosen = np.unique(selection)
    exist = np.isin(chosen, np.arange(instance.n_features)).all()
    if not exist or validation.misfit(instance, chosen):
        return None
    return Candidate(chosen, assign(instance.A, chosen, instance.n_per_class))


def _where(row: NDArray[np.int8], what: int) -> Indices:
    return np.flatnonzero(row == what).astype(np.int64)
