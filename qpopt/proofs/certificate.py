"""Certificate: the multipliers that prove a bound, to be saved and checked by `check_certificate`.

A certificate is a list of steps. Every step states, for the features that the steps before it left
free, thresholds, multipliers and a matrix B, from which a bound follows by arithmetic alone (see
`qpopt.relaxations.safe_bounds`). With a known objective, a step also removes features that no
better solution contains and includes those that every better one contains. Between the steps the
selections may be split into parts, which follow one another as in a depth-first walk: a `Split`
goes on with the part that contains a feature, and an `End` with the part that was split off last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.group_cuts import Group
from qpopt.cuts.quadric import QuadricCut
from qpopt.cuts.split_thresholds import SplitThresholdCuts
from qpopt.io.archive import opened_archive, save_archive
from qpopt.problem.scaling import Scaling
from qpopt.problem.subproblem import Floats, Indices
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation
from qpopt.verification.certificate_check import End, Split

SPLIT_FIELDS = SplitThresholdCuts._fields


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a proof.

    Parameters
    ----------
    free, included
        The features that may be selected, and those that are, as this step begins.
    splits, groups
        Cuts on what single classes, and what several classes together, gain at the most.
    y, t
        Multipliers of Xe = n_select · diag(X) and tr X = n_select.
    cuts, multipliers
        Cuts on X, whose features are positions among `free`, and their multipliers.
    B
        The matrix that is shown to be nearly positive semidefinite.
    removed, forced
        Features that this step excludes from, and includes in, every better solution.
    points
        For every feature in `removed`, a point that proves it (see `qpopt.relaxations.fixing`);
        all 0 where the rows of M + B are enough.
    """

    free: Indices
    included: Indices
    splits: SplitThresholdCuts
    groups: Sequence[Group]
    y: NDArray[np.float64]
    t: float
    cuts: Sequence[QuadricCut]
    multipliers: NDArray[np.float64]
    B: Floats
    removed: Indices
    forced: Indices
    points: Floats

    @classmethod
    def of(
        cls, current: SemidefiniteRelaxation, removed: Indices, forced: Indices, points: Floats
    ) -> Step:
        """Return what an iterate proves, and what follows for single features."""
        admm, sub = current.admm, current.sub
        n = sub.n_free
        useful = [] if admm is None else admm.cuts.useful()
        return cls(
            free=sub.free,
            included=sub.included,
            splits=current.class_cuts,
            groups=list(current.groups),
            y=np.zeros(n) if admm is None else admm.y.copy(),
            t=0.0 if admm is None else admm.t,
            cuts=[] if admm is None else [admm.cuts.cuts[r] for r in useful],
            multipliers=np.zeros(0) if admm is None else admm.cuts.multipliers[useful],
            B=np.zeros((n, n)) if admm is None else admm.symmetric_S(),
            removed=removed,
            forced=forced,
            points=points,
        )

    @classmethod
    def of_one(cls, selection: Indices) -> Step:
        """Return the step for what is left when only one selection is possible."""
        none, zero = selection[:0], np.zeros(0)
        splits = SplitThresholdCuts(none, none, zero, zero, zero)
        matrix = np.zeros((0, 0))
        return cls(none, selection, splits, [], zero, 0.0, [], zero, matrix, none, none, matrix)


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
        The proof: steps, splits and ends of parts. Parts that have no end are left as they are.
    exponent, class_offsets, feature_offset
        The steps are about (A − class_offsets, R, b − feature_offset) · 2^exponent, which is what
        was worked on (see `qpopt.problem.scaling`); None where nothing was taken out of A and b.
    """

    fingerprint: str
    bound: float
    objective: float
    steps: tuple[Step | Split | End, ...]
    exponent: int = 0
    class_offsets: NDArray[np.float64] | None = None
    feature_offset: float = 0.0

    def about(self, scaling: Scaling) -> Certificate:
        """Return the same proof as one about the instance that was asked about."""
        return replace(
            self,
            fingerprint=scaling.original.fingerprint,
            bound=scaling.bound_back(self.bound),
            objective=scaling.back(self.objective),
            exponent=scaling.exponent,
            class_offsets=scaling.class_offsets,
            feature_offset=scaling.feature_offset,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the certificate to one compressed .npz file."""
        arrays: dict[str, Any] = {}
        meta = {
            "fingerprint": self.fingerprint,
            "bound": self.bound,
            "objective": None if self.objective == -np.inf else self.objective,
            "exponent": self.exponent,
            "feature_offset": self.feature_offset,
            "steps": [_record(step) for step in self.steps],
        }
        if self.class_offsets is not None:
            arrays["class_offsets"] = self.class_offsets
        for number, step in enumerate(self.steps):
            if not isinstance(step, Step):
                continue
            sizes = [(cut.level, len(cut.plus), len(cut.minus)) for cut in step.cuts]
            members = [d for cut in step.cuts for d in cut.plus + cut.minus]
            entries = {
                "free": step.free,
                "included": step.included,
                "y": step.y,
                "cuts": np.array(sizes, dtype=np.int64).reshape(-1, 3),
                "members": np.array(members, dtype=np.int64),
                "multipliers": step.multipliers,
                "B": step.B[np.triu_indices(len(step.B))],
                "removed": step.removed,
                "forced": step.forced,
                "points": step.points,
            }
            entries |= {f"split_{name}": getattr(step.splits, name) for name in SPLIT_FIELDS}
            arrays |= {f"step{number}_{name}": array for name, array in entries.items()}
        save_archive(path, "certificate", meta, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read a certificate that `save` wrote.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged or not a certificate.
        """
        with opened_archive(path, "certificate") as (archive, meta):
            steps = tuple(
                _step(archive, number, record) for number, record in enumerate(meta["steps"])
            )
            objective = -np.inf if meta["objective"] is None else _real(meta["objective"])
            return cls(
                _text(meta["fingerprint"]),
                _real(meta["bound"]),
                objective,
                steps,
                _whole(meta["exponent"]),
                archive.get("class_offsets"),
                _real(meta["feature_offset"]),
            )


def _record(step: Step | Split | End) -> dict[str, Any]:
    """Return what JSON holds of a step."""
    if isinstance(step, Split):
        return {"split": step.feature}
    if isinstance(step, End):
        return {"enumerated": step.enumerated}
    groups = [
        [value.tolist() if isinstance(value, np.ndarray) else value for value in group]
        for group in step.groups
    ]
    return {"t": step.t, "groups": groups}


def _group(record: Any) -> Group:
    # Groups without a split may end after the first four.
    classes, share, thresholds, sigma, feature, given, given_sigma = [*record, -1, [], 0.0][:7]
    return Group(
        tuple(map(_whole, classes)), _real(share), _reals(thresholds), _real(sigma),
        _whole(feature), _reals(given), _real(given_sigma),
    )  # fmt: skip


def _reals(values: Any) -> NDArray[np.float64]:
    return np.array([_real(value) for value in values], dtype=np.float64)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _real(value: Any) -> float:
    """Return a number of JSON; texts and truth values, which `float` takes, are none."""
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


def _cuts(sizes: Any, members: list[int]) -> list[QuadricCut]:
    cuts, first = [], 0
    if sizes.dtype != np.int64 or (sizes[:, 1:] < 0).any() or sizes[:, 1:].sum() != len(members):
        raise ValueError
    for level, n_plus, n_minus in sizes.tolist():
        middle, last = first + n_plus, first + n_plus + n_minus
        cuts.append(QuadricCut(level, tuple(members[first:middle]), tuple(members[middle:last])))
        first = last
    return cuts


def _step(archive: Any, number: int, record: Any) -> Step | Split | End:
    if "split" in record:
        return Split(_whole(record["split"]))
    if "enumerated" in record:
        return End(record["enumerated"] is True)

    def read(name: str) -> Any:
        return archive[f"step{number}_{name}"]

    free = read("free")
    # An entry for every pair: NumPy would write a single one to all of them.
    if read("B").shape != (len(free) * (len(free) + 1) // 2,):
        raise ValueError
    B = np.zeros((len(free), len(free)), dtype=read("B").dtype)
    B[np.triu_indices(len(free))] = read("B")
    B = np.triu(B) + np.triu(B, 1).T
    return Step(
        free=free,
        included=read("included"),
        splits=SplitThresholdCuts(*(read(f"split_{name}") for name in SPLIT_FIELDS)),
        groups=[_group(one) for one in record["groups"]],
        y=read("y"),
        t=_real(record["t"]),
        cuts=_cuts(read("cuts"), read("members").tolist()),
        multipliers=read("multipliers"),
        B=B,
        removed=read("removed"),
        forced=read("forced"),
        points=read("points"),
    )
