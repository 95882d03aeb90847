"""The projected linear relaxation: s and one value per class, no assignment variables.

max Σ_c z_c + Σ_d b_d s_d − Σ_e r_e y_e over Σ_d s_d = n_select, 0 ≤ s ≤ 1, with cuts that are added
while they are violated:

- thresholds: z_c ≤ kτ + Σ_d (a_cd − τ)⁺ s_d;
- overlaps, for classes that may not have the same set: see `qpopt.cuts.overlap`;
- cliques of redundant features and q = 1, 2, …: Σ_{pairs of K} y ≥ q Σ_{d∈K} s_d − q(q + 1)/2.

The linear program stays alive in HiGHS between rounds. Its value is never trusted: the multipliers
of the cuts are made feasible and the bound is recomputed from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.overlap import best_overlap, crowded_groups, shares
from qpopt.problem.subproblem import Subproblem
from qpopt.relaxations.feature_bounds import FeatureBounds
from qpopt.solvers.availability import load

Vector = NDArray[np.float64]

VIOLATION = 1e-6
FEW = 0.05
"""New threshold cuts per class that count as few."""

NEW_CLIQUES = 60
MOST_GROUPS = 400


@dataclass(frozen=True, eq=False)
class _Cut:
    """Σ_{c∈classes} z_c − Σ_e∈pairs y_e ≤ constant + gains · s."""

    classes: tuple[int, ...]
    constant: float
    gains: Vector
    pairs: tuple[int, ...] = ()


class LinearRelaxation:
    """The relaxation of a subproblem, with the cuts found so far.

    Parameters
    ----------
    sub
        The problem, with at least one feature to select.
    cliques
        Whether to bound redundancy by clique cuts; otherwise it counts as 0.
    overlaps
        Whether to use overlap cuts, which know of uniqueness.
    """

    def __init__(self, sub: Subproblem, *, cliques: bool = True, overlaps: bool = True) -> None:
        highspy = load("highspy")

        self.sub = sub
        self.rounds = 0
        self._with_cliques = cliques and bool(sub.R.any())
        self._with_overlaps = overlaps and sub.n_classes > 1
        self._cuts: list[_Cut] = []
        self._pair_columns: dict[tuple[int, int], int] = {}
        self._known_cliques: set[tuple[int, ...]] = set()
        self._columns = sub.columns()
        n, q = sub.n_free, sub.n_classes
        order = np.argsort(-self._columns, axis=1, kind="stable")
        self._order = order
        self._values = np.take_along_axis(self._columns, order, axis=1)
        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("threads", 1)
        infinity = highspy.kHighsInf
        top = self._values[:, : sub.n_per_class].sum(axis=1)
        empty = np.zeros(0)
        self._highs.addCols(
            n + q, np.concatenate([sub.b, np.ones(q)]),
            np.concatenate([np.zeros(n), np.full(q, -infinity)]),
            np.concatenate([np.ones(n), top]),
            0, np.zeros(n + q, dtype=np.int32), np.zeros(0, dtype=np.int32), empty,
        )  # fmt: skip
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        m = float(sub.n_select)
        self._highs.addRow(m, m, n, np.arange(n, dtype=np.int32), np.ones(n))
        self.s: Vector = np.full(n, m / max(n, 1))
        self.z: Vector = top
        self.y: Vector = empty
        self._separate_thresholds()

    def advance(self, time_limit: float | None = None) -> bool:
        """Solve and separate once; tell whether a violated cut was found."""
        highspy = load("highspy")

        if time_limit is not None:
            # The clock of HiGHS runs on over several solves.
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + time_limit)
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return False
        solution = self._highs.getSolution()
        x = np.array(solution.col_value)
        n, q = self.sub.n_free, self.sub.n_classes
        self.s, self.z, self.y = np.clip(x[:n], 0.0, 1.0), x[n : n + q], x[n + q :]
        self._multipliers = np.abs(np.array(solution.row_dual)[1:])
        self.rounds += 1
        before = len(self._cuts)
        self._separate_thresholds()
        # The others cost more to find, and are worth it only once the thresholds have settled.
        if len(self._cuts) - before < FEW * self.sub.n_classes:
            if self._with_overlaps:
                self._separate_overlaps()
            if self._with_cliques:
                self._separate_cliques()
        return len(self._cuts) > before

    def value(self) -> FeatureBounds:
        """Return what the multipliers of the last solve prove."""
        n, m = self.sub.n_free, self.sub.n_select
        multipliers = np.zeros(len(self._cuts))
        known = getattr(self, "_multipliers", np.zeros(0))[: len(self._cuts)]
        multipliers[: len(known)] = known
        load = np.zeros(self.sub.n_classes)
        for cut, multiplier in zip(self._cuts, multipliers, strict=True):
            for c in cut.classes:
                load[c] += multiplier
        scale = 1.0 / max(1.0, float(load.max()))
        gains = self.sub.b.copy()
        constant = self.sub.constant
        charge = np.zeros(len(self._pair_columns))
        for cut, multiplier in zip(self._cuts, multipliers, strict=True):
            # A clique cut bounds no class, so it need not share its scale.
            factor = multiplier * scale if cut.classes else multiplier
            if factor:
                gains += factor * cut.gains
                constant += factor * cut.constant
                charge[list(cut.pairs)] += factor
        for c in np.flatnonzero(1.0 - load * scale > 0):
            # What is missing of a full unit of every z_c comes from one more threshold cut.
            share = 1.0 - load[c] * scale
            cut = self._threshold_cut(int(c), self.s)
            gains += share * cut.gains
            constant += share * cut.constant
        redundancy = np.array([self.sub.R[pair] for pair in self._pair_columns])
        constant += float(np.maximum(charge - redundancy, 0.0).sum()) if len(charge) else 0.0
        size = abs(constant) + float(np.abs(gains).sum()) + float(charge.sum())
        return _decided(gains, constant + 1e-13 * (len(self._cuts) + n) * size, m)

    def _threshold_cut(self, c: int, s: Vector) -> _Cut:
        """Return the most violated threshold cut of a class."""
        k = self.sub.n_per_class
        n = self.sub.n_free
        weight = np.concatenate([s, np.ones(self._columns.shape[1] - n)])
        total = np.cumsum(weight[self._order[c]])
        position = min(int(np.searchsorted(total, k - 1e-12)), self._columns.shape[1] - 1)
        threshold = self._values[c, position]
        gains = np.maximum(self._columns[c] - threshold, 0.0)
        return _Cut((c,), float(k * threshold + gains[n:].sum()), gains[:n])

    def _separate_thresholds(self) -> None:
        found = []
        for c in range(self.sub.n_classes):
            cut = self._threshold_cut(c, self.s)
            limit = cut.constant + float(cut.gains @ self.s)
            if not self._cuts or self.z[c] > limit + VIOLATION * max(1.0, abs(limit)):
                found.append(cut)
        self._add(found)

    def _separate_overlaps(self) -> None:
        """Add cuts on groups of classes that take nearly the same features at s."""
        k, n = self.sub.n_per_class, self.sub.n_free
        weight = np.concatenate([self.s, np.ones(self._columns.shape[1] - n)])
        found = []
        for group in crowded_groups(shares(self._order, weight, k), weight, k, MOST_GROUPS):
            best = best_overlap(self._columns, group, weight, k)
            cut = _Cut(group, best.constant + float(best.gains[n:].sum()), best.gains[:n])
            limit = cut.constant + float(cut.gains @ self.s)
            if self.z[list(group)].sum() > limit + 100 * VIOLATION * max(1.0, abs(limit)):
                found.append(cut)
        self._add(found)

    def _separate_cliques(self) -> None:
        found = []
        for members in _violated_cliques(self.sub.R, self.s, self._pair_values()):
            if members in self._known_cliques:
                continue
            self._known_cliques.add(members)
            inside = list(members)
            total = float(self.s[inside].sum())
            q = max(1, int(np.floor(total)))
            gains = np.zeros(self.sub.n_free)
            gains[inside] = -float(q)
            pairs = tuple(
                self._pair_column(d, e) for i, d in enumerate(inside) for e in inside[i + 1 :]
            )
            found.append(_Cut((), 0.5 * q * (q + 1), gains, pairs))
        self._add(found)

    def _pair_values(self) -> Vector:
        values = np.zeros_like(self.sub.R)
        for (d, e), column in self._pair_columns.items():
            if column < len(self.y):
                values[d, e] = values[e, d] = self.y[column]
        return values

    def _pair_column(self, d: int, e: int) -> int:
        """Return the number of the variable of a pair, making it where there is none."""
        key = (min(d, e), max(d, e))
        if key not in self._pair_columns:
            self._pair_columns[key] = len(self._pair_columns)
            empty = np.zeros(0, dtype=np.int32)
            self._highs.addCol(-float(self.sub.R[key]), 0.0, 1.0, 0, empty, np.zeros(0))
        return self._pair_columns[key]

    def _add(self, cuts: list[_Cut]) -> None:
        highspy = load("highspy")

        n, q = self.sub.n_free, self.sub.n_classes
        for cut in cuts:
            used = np.flatnonzero(cut.gains)
            index = [*used.tolist(), *(n + c for c in cut.classes), *(n + q + e for e in cut.pairs)]
            value = [*(-cut.gains[used]).tolist(), *[1.0] * len(cut.classes)]
            value += [-1.0] * len(cut.pairs)
            self._highs.addRow(
                -highspy.kHighsInf, cut.constant, len(index),
                np.array(index, dtype=np.int32), np.array(value),
            )  # fmt: skip
        self._cuts += cuts


def _decided(gains: Vector, constant: float, m: int) -> FeatureBounds:
    """Maximise a linear function over selections, also with one feature decided."""
    n = len(gains)
    order = np.argsort(-gains, kind="stable")
    chosen = np.zeros(n, dtype=bool)
    chosen[order[:m]] = True
    value = constant + float(gains[order[:m]].sum())
    with_feature = np.full(n, value)
    without_feature = np.full(n, value)
    with_feature[~chosen] += gains[~chosen] - gains[order[m - 1]]
    if n > m:
        without_feature[chosen] += gains[order[m]] - gains[chosen]
    else:
        without_feature[chosen] = -np.inf
    return FeatureBounds(value, with_feature, without_feature)


def _violated_cliques(R: Vector, s: Vector, y: Vector) -> list[tuple[int, ...]]:
    """Grow cliques of redundant features greedily on the support of s."""
    support = np.flatnonzero(s > 1e-4)
    found: dict[tuple[int, ...], float] = {}
    for start in support[np.argsort(-s[support])]:
        members = [int(start)]
        allowed = R[start] > 0
        load = y[start].copy()
        while True:
            gain = np.where(allowed, s - load, 0.0)
            best = int(gain.argmax())
            if gain[best] <= 1e-6:
                break
            members.append(best)
            allowed &= R[best] > 0
            load += y[best]
        inside = sorted(members)
        total = float(s[inside].sum())
        q = max(1, int(np.floor(total)))
        pairs = float(y[np.ix_(inside, inside)].sum()) / 2
        excess = q * total - 0.5 * q * (q + 1) - pairs
        if len(inside) > 1 and excess > 1e-4:
            weakest = float((R[np.ix_(inside, inside)] + np.eye(len(inside)) * 9).min())
            found[tuple(inside)] = excess * weakest
    return sorted(found, key=lambda key: -found[key])[:NEW_CLIQUES]
