"""Sweep: accuracy over compactness, point by point."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf
from typing import Any

from qpopt import InvalidArgument
from qpopt.io import AnyPath, opened_json, save_json

PROVEN = ("bound", "gap")
"""What is None where nothing is proven."""
SHOWN = 60
"""Characters of a wrong value that an error shows."""


@dataclass(frozen=True)
class SweepPoint:
    """One choice of counts and what came of it.

    Parameters
    ----------
    n_select, n_per_class
        The counts.
    objective, bound, gap
        Of the solve; the last two are None where nothing is proven.
    accuracy
        From 0 to 1.
    seconds
        Wall time of the solve.
    selection
        The selected features.
    key
        Identifies the instance and the settings that gave the point.
    """

    n_select: int
    n_per_class: int
    objective: float
    bound: float | None
    gap: float | None
    accuracy: float
    seconds: float
    selection: tuple[int, ...]
    key: str

    def __post_init__(self) -> None:
        counts = (self.n_select, self.n_per_class, *self.selection)
        rises = all(d < e for d, e in pairwise(self.selection))
        _require(all(type(count) is int and count >= 0 for count in counts), "counts", counts)
        _require(len(self.selection) == self.n_select and rises, "selection", self.selection)
        for name in ("objective", "bound", "gap", "seconds"):
            value = getattr(self, name)
            _require(_is_number(value) or (value is None and name in PROVEN), name, value)
        _require(_is_share(self.accuracy), "accuracy", self.accuracy)
        _require(isinstance(self.key, str), "key", self.key)


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep.

    Parameters
    ----------
    points
        Sorted by n_select, then n_per_class.
    dense_accuracy
        Accuracy of the dense model on the same samples.
    """

    points: tuple[SweepPoint, ...]
    dense_accuracy: float

    def __post_init__(self) -> None:
        _require(_is_share(self.dense_accuracy), "dense_accuracy", self.dense_accuracy)

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as values that JSON can hold."""
        return asdict(self)

    def save(self, path: AnyPath) -> None:
        """Write the sweep as a JSON file."""
        save_json(path, "sweep", self.to_dict())

    @classmethod
    def load(cls, path: AnyPath) -> Sweep:
        """Read a sweep that `save` wrote.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged or not a sweep.
        """
        with opened_json(path, "sweep") as record:
            points = [{**p, "selection": tuple(p["selection"])} for p in record["points"]]
            return cls(tuple(SweepPoint(**p) for p in points), record["dense_accuracy"])

    def figure(self) -> tuple[Any, Any]:
        """Draw accuracy over features per class, a line for every n_select."""
        import matplotlib.pyplot as plt

        figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
        sizes = sorted({point.n_select for point in self.points})
        for place, n_select in enumerate(sizes):
            line = [point for point in self.points if point.n_select == n_select]
            shade = 0.25 + 0.65 * (place + 1) / len(sizes)
            axis.plot(
                [point.n_per_class for point in line],
                [100 * point.accuracy for point in line],
                marker="o",
                color=plt.get_cmap("Oranges")(shade),
                label=f"{n_select} features",
            )
        axis.axhline(100 * self.dense_accuracy, color="#52606d", linestyle="--", label="dense")
        axis.set_xticks(sorted({point.n_per_class for point in self.points}))
        axis.set_xlabel("features per class")
        axis.set_ylabel("accuracy in %")
        axis.legend(frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
        return figure, axis

    def __str__(self) -> str:
        lines = ["n_select  n_per_class  accuracy  objective     gap"]
        for p in self.points:
            gap = "–" if p.gap is None else f"{100 * p.gap:.2f} %"
            lines.append(
                f"{p.n_select:8}  {p.n_per_class:11}  {100 * p.accuracy:6.1f} %  "
                f"{p.objective:9.3f}  {gap:>6}"
            )
        lines.append(f"{'dense':>8}  {'':11}  {100 * self.dense_accuracy:6.1f} %")
        return "\n".join(lines)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < inf


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _require(fine: bool, name: str, value: Any) -> None:
    if not fine:
        raise InvalidArgument(f"The {name} of a sweep cannot be {str(value)[:SHOWN]}.")
