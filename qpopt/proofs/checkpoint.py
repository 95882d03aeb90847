"""Checkpoint: what a proof has reached, so that a later solve can go on from there."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from os import PathLike
from pathlib import Path

import numpy as np

from qpopt.errors import InvalidFile
from qpopt.io.archive import opened_archive, save_archive
from qpopt.problem import validation
from qpopt.problem.assignment import assign
from qpopt.problem.instance import Instance
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
                advice = "name another file to begin anew"
                raise InvalidFile(f"{path} is the checkpoint of another instance; {advice}.")
            claimed = float(meta["objective"])
            bounds, state = archive["bounds"], archive["state"]
            best = _solution(instance, archive["selection"])
            fits = (
                bounds.ndim == 1
                and not np.isnan(bounds).any()
                and state.shape == (len(bounds), instance.n_features)
                and np.isin(state, (OUT, FREE, IN)).all()
            )
            # The assignment was perhaps not the best one, as that of a start; now it is.
            objective = -inf if best is None else instance.objective(*best).total
            fits = fits and objective >= claimed - ROUNDING * max(1.0, abs(claimed))
            if best is None or not fits:
                raise InvalidFile(f"{path} is damaged: its content does not fit together.")
            parts = tuple(
                Part(np.flatnonzero(row == FREE), np.flatnonzero(row == IN), float(bound))
                for row, bound in zip(state, bounds, strict=True)
            )
        return cls(instance.fingerprint, instance.n_features, best, objective, parts)


def _solution(instance: Instance, selection: Indices) -> Candidate | None:
    chosen = np.unique(selection)
    exist = np.isin(chosen, np.arange(instance.n_features)).all()
    if not exist or validation.misfit(instance, chosen):
        return None
    return Candidate(chosen, assign(instance.A, chosen, instance.n_per_class))
