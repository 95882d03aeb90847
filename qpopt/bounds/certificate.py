"""Certificate: the multipliers that prove a bound, to be saved and checked by `check_certificate`.

A certificate is a list of steps. Every step states, for the features that the steps before it left
free, thresholds, multipliers and a matrix B, from which a bound follows by arithmetic alone (see
`qpopt.bounds.safe`). With a known objective, a step also removes features that no better solution
contains and includes those that every better one contains.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.bounds.reduced import Floats, Indices
from qpopt.bounds.thresholds import Group, Round


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a proof.

    Parameters
    ----------
    free, included
        The features that may be selected, and those that are, as this step begins.
    rounds
        Sets of thresholds, classes × free, and overlap cuts; their weights add up to 1.
    y, t
        Multipliers of Xe = n_select · diag(X) and tr X = n_select.
    cuts, multipliers
        Cuts (i, members of K, as positions among `free`) and their multipliers.
    B
        The matrix that is shown to be nearly positive semidefinite.
    removed, forced
        Features that this step excludes from, and includes in, every better solution.
    """

    free: Indices
    included: Indices
    rounds: Sequence[Round]
    y: NDArray[np.float64]
    t: float
    cuts: Sequence[tuple[int, ...]]
    multipliers: NDArray[np.float64]
    B: Floats
    removed: Indices
    forced: Indices


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof that no solution of an instance has a Z above `bound`.

    Parameters
    ----------
    fingerprint
        The fingerprint of the instance.
    bound
        What is proven.
    objective
        The Z of a known solution, which steps that remove features refer to; −inf without one.
    steps
        The proof.
    """

    fingerprint: str
    bound: float
    objective: float
    steps: tuple[Step, ...]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the certificate to one compressed .npz file."""
        from qpopt.files import CERTIFICATE_FORMAT, FORMAT_VERSION, replacing

        arrays: dict[str, Any] = {}
        meta = {
            "format": CERTIFICATE_FORMAT,
            "version": FORMAT_VERSION,
            "fingerprint": self.fingerprint,
            "bound": self.bound,
            "objective": None if self.objective == -np.inf else self.objective,
            "steps": [
                {"t": step.t, "rounds": [_round_record(one) for one in step.rounds]}
                for step in self.steps
            ],
        }
        for number, step in enumerate(self.steps):
            lengths = [len(members) for members in step.cuts]
            entries = {
                "free": step.free,
                "included": step.included,
                "y": step.y,
                "lengths": np.array(lengths, dtype=np.int64),
                "members": np.array([d for cut in step.cuts for d in cut], dtype=np.int64),
                "multipliers": step.multipliers,
                "B": step.B[np.triu_indices(len(step.B))],
                "removed": step.removed,
                "forced": step.forced,
            }
            entries |= {f"thresholds{r}": one.thresholds for r, one in enumerate(step.rounds)}
            arrays |= {f"step{number}_{name}": array for name, array in entries.items()}
        with replacing(path) as stream:
            np.savez_compressed(
                stream, meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8), **arrays
            )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read a certificate that `save` wrote.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged or not a certificate.
        """
        from qpopt.files import CERTIFICATE_FORMAT, opened_archive

        with opened_archive(path, CERTIFICATE_FORMAT) as (archive, meta):
            steps = tuple(
                _step(archive, number, record) for number, record in enumerate(meta["steps"])
            )
            objective = -np.inf if meta["objective"] is None else float(meta["objective"])
            return cls(str(meta["fingerprint"]), float(meta["bound"]), objective, steps)


def _round_record(one: Round) -> dict[str, Any]:
    groups = [[g.classes, g.share, g.thresholds.tolist(), g.sigma] for g in one.groups]
    return {"weight": one.weight, "groups": groups}


def _round(record: Any, thresholds: NDArray[np.float32]) -> Round:
    groups = tuple(
        Group(tuple(classes), float(share), np.array(multipliers), float(sigma))
        for classes, share, multipliers, sigma in record["groups"]
    )
    return Round(float(record["weight"]), thresholds, groups)


def _step(archive: Any, number: int, record: Any) -> Step:
    def read(name: str) -> Any:
        return archive[f"step{number}_{name}"]

    free = read("free")
    B = np.zeros((len(free), len(free)), dtype=read("B").dtype)
    B[np.triu_indices(len(free))] = read("B")
    B = np.triu(B) + np.triu(B, 1).T
    ends = np.cumsum(read("lengths"))
    members = read("members").tolist()
    starts = [0, *ends.tolist()]
    return Step(
        free=free,
        included=read("included"),
        rounds=[_round(one, read(f"thresholds{r}")) for r, one in enumerate(record["rounds"])],
        y=read("y"),
        t=float(record["t"]),
        cuts=[tuple(members[starts[r] : starts[r + 1]]) for r in range(len(ends))],
        multipliers=read("multipliers"),
        B=B,
        removed=read("removed"),
        forced=read("forced"),
    )
