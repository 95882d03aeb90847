"""The projected linear relaxation: s and one value per class, no assignment variables.

max Σ_c z_c + Σ_d b_d s_d − Σ_e r_e y_e over Σ_d s_d = n_select, 0 ≤ s ≤ 1, with cuts that are added
while they are violated:

- thresholds: z_c ≤ kτ + Σ_d (a_cd − τ)⁺ s_d;
- overlaps, for classes that may not have the same set: see `qpopt.cuts.overlap`; where these say
  no more, families: see `qpopt.cuts.families`;
- cliques of redundant features and q = 1, 2, …: Σ_{pairs of K} y ≥ q Σ_{d∈K} s_d − q(q + 1)/2.

The linear program stays alive in HiGHS between rounds. Its value is never trusted: the multipliers
of the cuts are made feasible and the bound is recomputed from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.control.limits import Clock, Limits
from qpopt.cuts.cliques import violated_cliques
from qpopt.cuts.families import Family, family_cut
from qpopt.cuts.family_search import FamilyParams, FamilySearch
from qpopt.cuts.group_cuts import Group
from qpopt.cuts.overlap import OverlapCut, OverlapParams, best_overlap, crowded_groups, shares
from qpopt.cuts.pairs import best_of_pair
from qpopt.cuts.split_thresholds import SplitThresholdCuts, class_columns, common_thresholds
from qpopt.problem.subproblem import Subproblem
from qpopt.relaxations.feature_bounds import FeatureBounds, linear_bounds
from qpopt.relaxations.linear_cut import LinearCut
from qpopt.relaxations.step import Decided, Step
from qpopt.solvers.availability import load

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LinearParams:
    """Which cuts are added.

    Parameters
    ----------
    violation, overlap_violation
        By how much a threshold cut and an overlap cut must be violated, relative to its right side.
    few
        New threshold cuts per class that count as few: then the others, which cost more to find,
        are looked for.
    most_cliques
        Clique cuts added at once.
    overlap, families
        Those of the overlap cuts, and of families.
    families_per_class
        In how many families at once a class may be.
    """

    violation: float = 1e-6
    overlap_violation: float = 1e-4
    few: float = 0.05
    most_cliques: int = 60
    overlap: OverlapParams = OverlapParams(most_groups=400)
    families: FamilyParams = FamilyParams()
    families_per_class: int = 2


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
    params
        Which cuts are added.
    """

    def __init__(
        self,
        sub: Subproblem,
        *,
        cliques: bool = True,
        overlaps: bool = True,
        params: LinearParams = LinearParams(),
    ) -> None:
        highspy = self._highspy = load("highspy")
        self.sub = sub
        self._params = params
        self.rounds = 0
        self._with_cliques = cliques and bool(sub.R.any())
        self._with_overlaps = overlaps and sub.n_classes > 1
        self._cuts: list[LinearCut] = []
        self._pair_columns: dict[tuple[int, int], int] = {}
        self._known_cliques: set[tuple[int, ...]] = set()
        self._similarity = sub.columns()
        self._columns = class_columns(sub)
        self._families = FamilySearch(params.families)
        n, q = sub.n_free, sub.n_classes
        self._highs: Any = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("threads", 1)
        infinity = highspy.kHighsInf
        top = self._columns.values[:, : sub.n_per_class].sum(axis=1)
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
        self._multipliers: Vector = empty
        self._add(self._threshold_cuts())

    def advance(self, time_limit: float | None = None) -> bool:
        """Solve and separate once; tell whether a violated cut was found."""
        clock = Clock(Limits(time_limit))
        if time_limit is not None:
            # The clock of HiGHS runs on over several solves.
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + time_limit)
        self._highs.run()
        if self._highs.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return False
        solution = self._highs.getSolution()
        x = np.array(solution.col_value)
        n, q = self.sub.n_free, self.sub.n_classes
        self.s, self.z, self.y = np.clip(x[:n], 0.0, 1.0), x[n : n + q], x[n + q :]
        self._multipliers = np.abs(np.array(solution.row_dual)[1:])
        self.rounds += 1
        found = self._violated(self._threshold_cuts(), self._params.violation)
        # The others cost more to find, and are worth it only once the thresholds have settled.
        if len(found) < self._params.few * self.sub.n_classes:
            if self._with_overlaps:
                overlaps = takewhile(lambda _: not clock.over, self._overlap_cuts())
                found += self._violated(overlaps, self._params.overlap_violation)
            if self._with_cliques:
                found += self._clique_cuts()
            if self._with_overlaps and not found:
                families = takewhile(lambda _: not clock.over, self._family_cuts())
                found = self._violated(families, self._params.overlap_violation)
        self._add(found)
        return bool(found)

    def value(self) -> FeatureBounds:
        """Return what the multipliers of the last solve prove."""
        sub = self.sub
        gains, constant = sub.b.copy(), sub.constant
        charge = np.zeros(len(self._pair_columns))
        for cut, factor in self._factors():
            gains += factor * cut.gains
            constant += factor * cut.constant
            charge[list(cut.pairs)] += factor
        redundancy = np.array([sub.R[pair] for pair in self._pair_columns])
        constant += float(np.maximum(charge - redundancy, 0.0).sum())
        size = abs(constant) + float(np.abs(gains).sum()) + float(charge.sum())
        taken = sub.n_select + sub.n_per_class + sub.forced.shape[1]
        for cut, factor in self._factors():
            size += factor * cut.size(taken)
        paid = 1e-13 * (len(self._cuts) + sub.n_free) * size
        return linear_bounds(gains, constant + paid, sub.n_select)

    def step(self, decided: Decided) -> Step:
        """Return the same in the form of a check, which asks for no cuts on cliques."""
        own, groups = [], []
        for cut, factor in self._factors():
            if len(cut.classes) == 1:
                own.append((cut.classes[0], float(cut.thresholds[0]), factor))
            elif cut.classes:
                group = Group(cut.classes, factor, cut.thresholds, cut.sigma, family=cut.family)
                groups.append(group)
        columns = zip(*sorted(own), strict=True)
        classes, thresholds, factors = (np.array(values) for values in columns)
        total = np.bincount(classes, factors)[classes]
        # Where groups stand for all of a class, one cut is there for what rounding leaves.
        shares = np.divide(factors, total, out=np.ones_like(factors), where=total > 0)
        nowhere = np.full(len(own), -1)
        splits = SplitThresholdCuts(classes, nowhere, thresholds, thresholds, shares)
        return Step.of_thresholds(self.sub, splits, groups, decided)

    def _factors(self) -> list[tuple[LinearCut, float]]:
        """Return the cuts that prove the bound, each with its multiplier, made feasible."""
        # The last solve knows nothing of the cuts after it.
        known = list(zip(self._cuts, self._multipliers.tolist(), strict=False))
        taken = np.zeros(self.sub.n_classes)
        for cut, multiplier in known:
            taken[list(cut.classes)] += multiplier
        scale = 1.0 / max(1.0, float(taken.max()))
        # A clique cut bounds no class, so it need not share its scale. What is missing of a full
        # unit of every z_c comes from one more threshold cut.
        factors = [(cut, by * scale if cut.classes else by) for cut, by in known if by]
        missing = np.maximum(1.0 - taken * scale, 0.0).tolist()
        return [*factors, *zip(self._threshold_cuts(), missing, strict=True)]

    def _weight(self) -> Vector:
        """Return how much every column is selected, those of included features fully."""
        return np.append(self.s, np.ones(self._similarity.shape[1] - self.sub.n_free))

    def _cut(self, cut: OverlapCut, family: Family | None = None) -> LinearCut:
        """Return a cut on what classes gain; included features are selected."""
        n = self.sub.n_free
        classes, thresholds, sigma, constant, gains = cut
        constant += float(gains[n:].sum())
        return LinearCut(classes, constant, gains[:n], (), thresholds, sigma, family)

    def _threshold_cuts(self) -> list[LinearCut]:
        """Return the strongest threshold cut of every class at s."""
        thresholds = common_thresholds(self._columns, self._weight())
        gains = np.maximum(self._similarity - thresholds[:, None], 0.0)
        constants = (self.sub.n_per_class * thresholds).tolist()
        return [
            self._cut(OverlapCut((c,), thresholds[c : c + 1], 0.0, constant, gains[c]))
            for c, constant in enumerate(constants)
        ]

    def _overlap_cuts(self) -> Iterator[LinearCut]:
        """Yield cuts on groups of classes that take nearly the same features at s."""
        k, weight = self.sub.n_per_class, self._weight()
        share = shares(self._columns.order, weight, k)
        for group in crowded_groups(share, weight, k, self._params.overlap):
            yield self._cut(best_overlap(self._similarity, group, weight, k))
        for pair in self.sub.alike:
            yield self._cut(best_of_pair(self._similarity, pair, weight, k))

    def _family_cuts(self) -> Iterator[LinearCut]:
        """Yield cuts on families of such groups that say more than z does."""
        k, weight = self.sub.n_per_class, self._weight()
        share = shares(self._columns.order, weight, k)
        uses = np.zeros(self.sub.n_classes)
        for group in crowded_groups(share, weight, k, self._params.overlap):
            classes = list(group)
            if uses[classes].max() < self._params.families_per_class:
                uses[classes] += 1
                beat = float(self.z[classes].sum())
                found = self._families.best(self._similarity, self.sub, group, weight, beat)
                if found is not None:
                    cut = family_cut(self._similarity, self.sub, group, *found)
                    yield self._cut(cut, found[1])

    def _violated(self, cuts: Iterable[LinearCut], tolerance: float) -> list[LinearCut]:
        """Return the cuts on what classes gain that s and z violate."""
        found = []
        for cut in cuts:
            limit = cut.constant + float(cut.gains @ self.s)
            if self.z[list(cut.classes)].sum() > limit + tolerance * max(1.0, abs(limit)):
                found.append(cut)
        return found

    def _clique_cuts(self) -> list[LinearCut]:
        found = []
        most = self._params.most_cliques
        for members, q in violated_cliques(self.sub.R, self.s, self._pair_values())[:most]:
            if members in self._known_cliques:
                continue
            self._known_cliques.add(members)
            gains = np.zeros(self.sub.n_free)
            gains[list(members)] = -float(q)
            pairs = tuple(self._pair_column(*pair) for pair in combinations(members, 2))
            found.append(LinearCut((), 0.5 * q * (q + 1), gains, pairs))
        return found

    def _pair_values(self) -> Vector:
        values = np.zeros_like(self.sub.R)
        for (d, e), column in self._pair_columns.items():
            if column < len(self.y):
                values[d, e] = values[e, d] = self.y[column]
        return values

    def _pair_column(self, d: int, e: int) -> int:
        """Return the number of the variable of a pair d < e, making it where there is none."""
        key = (d, e)
        if key not in self._pair_columns:
            self._pair_columns[key] = len(self._pair_columns)
            empty = np.zeros(0, dtype=np.int32)
            self._highs.addCol(-float(self.sub.R[key]), 0.0, 1.0, 0, empty, np.zeros(0))
        return self._pair_columns[key]

    def _add(self, cuts: list[LinearCut]) -> None:
        n, q = self.sub.n_free, self.sub.n_classes
        for cut in cuts:
            used = np.flatnonzero(cut.gains)
            index = [*used.tolist(), *(n + c for c in cut.classes), *(n + q + e for e in cut.pairs)]
            value = [*(-cut.gains[used]).tolist(), *[1.0] * len(cut.classes)]
            value += [-1.0] * len(cut.pairs)
            self._highs.addRow(
                -self._highspy.kHighsInf, cut.constant, len(index),
                np.array(index, dtype=np.int32), np.array(value),
            )  # fmt: skip
        self._cuts += cuts
