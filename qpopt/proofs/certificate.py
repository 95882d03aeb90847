"""Certificate: the multipliers that prove a bound, to be saved and checked by `check_certificate`.

A certificate is a list of steps. Every step states, for the features that the steps before it left
free, thresholds, multipliers and a matrix B, from which a bound follows by arithmetic alone (see
`qpopt.relaxations.safe_bounds`). With a known objective, a step also removes features that no
better solution contains and includes those that every better one contains. Between the steps the
selections may be split into parts, which follow one another as in a depth-first walk: a `Split`
goes on with the part that contains a feature, and an `End` with the part that was split off last.
What a MIP solver has decided is a `Claim`: named, and never counted as proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.families import Family
from qpopt.cuts.group_cuts import Group
from qpopt.cuts.quadric import QuadricCut
from qpopt.cuts.split_thresholds import SplitThresholdCuts
from qpopt.io.archive import opened_archive, save_archive
from qpopt.problem.assigning.relaxed import Multipliers
from qpopt.problem.scaling import Scaling
from qpopt.proofs.record import Item, Record
from qpopt.relaxations.step import Step
from qpopt.verification.certificate_check import Claim, End, Split

SPLIT_FIELDS = SplitThresholdCuts._fields


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof that no solution of an instance has a Z above `bound`.

    Parameters
    ----------
    fingerprint
        The fingerprint of the instance.
    bound
        What is proven, if the claims of solvers, where there are any, are right.
    objective
        The Z of a known solution, which steps that remove features refer to; −inf without one.
    steps
        The proof: steps, splits, claims and ends of parts. Parts that have no end are left as they
        are.
    multipliers
        What the demands of the instance cost: the steps are about the plain instance that bounds
        it then (see `qpopt.problem.assigning.relaxed`). None without demands.
    exponent, class_offsets, feature_offset
        The steps are about (A − class_offsets, R, b − feature_offset) · 2^exponent, which is what
        was worked on (see `qpopt.problem.scaling`); None where nothing was taken out of A and b.
    """

    fingerprint: str
    bound: float
    objective: float
    steps: tuple[Item, ...]
    exponent: int = 0
    class_offsets: NDArray[np.float64] | None = None
    feature_offset: float = 0.0
    multipliers: Multipliers | None = None

    @classmethod
    def of(cls, record: Record, objective: float, bound: float = inf) -> Certificate:
        """Return what the record of a proof shows.

        Parameters
        ----------
        record
            The record.
        objective
            The Z of the best solution known.
        bound
            What has been proven, by whatever means; the certificate may show less.
        """
        known = max(bound, objective)
        items = [item for item, _ in record.items(known)]
        while items and items[-1] == End(enumerated=False):
            items.pop()
        shown = record.bound(objective, known)
        fingerprint, by = record.instance.fingerprint, record.multipliers
        return cls(fingerprint, shown, objective, tuple(items), multipliers=by)

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
        steps, arrays = packed(self.steps)
        meta = {
            "fingerprint": self.fingerprint,
            "bound": self.bound,
            "objective": None if self.objective == -np.inf else self.objective,
            "exponent": self.exponent,
            "feature_offset": self.feature_offset,
            "steps": steps,
        }
        if self.class_offsets is not None:
            arrays["class_offsets"] = self.class_offsets
        if self.multipliers is not None:
            arrays["prices"], meta["size_price"], arrays["sign_prices"] = self.multipliers
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
            steps = unpacked(archive, meta["steps"])
            objective = -np.inf if meta["objective"] is None else _real(meta["objective"])
            multipliers = None
            if "size_price" in meta:
                prices, sign_prices = archive["prices"], archive["sign_prices"]
                multipliers = Multipliers(prices, _real(meta["size_price"]), sign_prices)
            return cls(
                _text(meta["fingerprint"]),
                _real(meta["bound"]),
                objective,
                steps,
                _whole(meta["exponent"]),
                archive.get("class_offsets"),
                _real(meta["feature_offset"]),
                multipliers,
            )


def packed(items: Iterable[Item]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what JSON holds of each item, and the arrays of all steps by name."""
    records: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    for number, item in enumerate(items):
        records.append(_record(item))
        if isinstance(item, Step):
            arrays |= {f"step{number}_{name}": array for name, array in _arrays(item).items()}
    return records, arrays


def unpacked(archive: Any, records: Sequence[Any]) -> tuple[Item, ...]:
    """Return the items that `packed` took apart; a damaged one raises what Python raises."""
    return tuple(_item(archive, number, record) for number, record in enumerate(records))


def _record(item: Item) -> dict[str, Any]:
    if isinstance(item, Split):
        return {"split": item.feature}
    if isinstance(item, End):
        return {"enumerated": item.enumerated}
    if isinstance(item, Claim):
        return {"solver": item.solver, "bound": item.bound}
    return {"t": item.t, "groups": [_plain(group) for group in item.groups]}


def _plain(value: Any) -> Any:
    """Return lists in the place of arrays and tuples."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _arrays(step: Step) -> dict[str, Any]:
    sizes = [(cut.level, len(cut.plus), len(cut.minus)) for cut in step.cuts]
    members = [d for cut in step.cuts for d in cut.plus + cut.minus]
    return {
        "free": step.free,
        "included": step.included,
        "y": step.y,
        "cuts": np.array(sizes, dtype=np.int64).reshape(-1, 3),
        "members": np.array(members, dtype=np.int64),
        "multipliers": step.multipliers,
        "B": step.B[np.triu_indices(len(step.B))],
        "removed": step.removed,
        "forced": step.forced,
        "watched": step.watched,
        "points": step.points,
        **{f"split_{name}": getattr(step.splits, name) for name in SPLIT_FIELDS},
    }


def _group(record: Any) -> Group:
    # Groups without a split, or without a family, may end earlier.
    values = [*record, *(-1, [], 0.0, None, None)[len(record) - 4 :]]
    classes, share, thresholds, sigma, feature, given, given_sigma, family, given_family = values
    return Group(
        tuple(map(_whole, classes)), _real(share), _reals(thresholds), _real(sigma),
        _whole(feature), _reals(given), _real(given_sigma), _family(family), _family(given_family),
    )  # fmt: skip


def _family(record: Any) -> Family | None:
    if record is None:
        return None
    core, prices, most = record
    return Family(np.array([_whole(d) for d in core], np.int64), _reals(prices), _real(most))


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


def _item(archive: Any, number: int, record: Any) -> Item:
    if "split" in record:
        return Split(_whole(record["split"]))
    if "enumerated" in record:
        return End(record["enumerated"] is True)
    if "solver" in record:
        return Claim(_text(record["solver"]), _real(record["bound"]))

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
        watched=read("watched"),
        points=read("points"),
    )
