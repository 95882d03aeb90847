"""Step: what an iterate of a relaxation proves, with all that a check needs to see it.

It leaves nothing to be believed: `qpopt.verification.step_bounds` recomputes the bound from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.group_cuts import Group
from qpopt.cuts.quadric import QuadricCut
from qpopt.cuts.split_thresholds import SplitThresholdCuts
from qpopt.problem.subproblem import Floats, Indices, Subproblem
from qpopt.relaxations.feature_bounds import FeatureBounds
from qpopt.relaxations.fixing import FixedFeatures
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation


class Decided(NamedTuple):
    """Features that are in no better solution, or in every one, and a point for those in none.

    A point of all 0 says that the bound with the feature is enough.
    """

    removed: Indices
    forced: Indices
    points: Floats


def decide(
    free: Indices, bounds: FeatureBounds, limit: float, found: FixedFeatures | None = None
) -> Decided:
    """Return which of the free features are decided, as only what exceeds a limit is of interest.

    Parameters
    ----------
    free
        The features.
    bounds
        What holds with and without each of them.
    limit
        The Z that better solutions exceed.
    found
        Features that points decide.
    """
    useless = bounds.with_feature <= limit
    points = np.zeros((len(free), len(free)), dtype=np.float32)
    if found is not None:
        useless[found.features] = True
        points[found.features] = found.points
    return Decided(free[useless], free[bounds.without_feature <= limit], points[useless])


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
    watched
        Features by which the part is split later: selections with them have bounds of their own.
    points
        For every feature in `removed`, then in `watched`, a point that proves its bound (see
        `qpopt.relaxations.fixing`); all 0 where the rows of M + B are enough.
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
    watched: Indices
    points: Floats

    @classmethod
    def of(
        cls,
        current: SemidefiniteRelaxation,
        decided: Decided | None = None,
        watched: Indices | None = None,
    ) -> Step:
        """Return what an iterate proves, and what follows for single features."""
        admm, sub = current.admm, current.sub
        n, none = sub.n_free, sub.free[:0]
        useful = [] if admm is None else admm.cuts.useful()
        removed, forced, points = decided or Decided(none, none, np.zeros((0, n)))
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
            watched=none if watched is None else watched,
            points=points,
        )

    @classmethod
    def of_thresholds(
        cls, sub: Subproblem, splits: SplitThresholdCuts, groups: Sequence[Group], decided: Decided
    ) -> Step:
        """Return what follows from cuts on what the classes gain alone."""
        n, none = sub.n_free, sub.free[:0]
        return cls(
            free=sub.free,
            included=sub.included,
            splits=splits,
            groups=groups,
            y=np.zeros(n),
            t=0.0,
            cuts=[],
            multipliers=np.zeros(0),
            B=np.zeros((n, n), dtype=np.float32),
            removed=decided.removed,
            forced=decided.forced,
            watched=none,
            points=decided.points,
        )

    @property
    def decides(self) -> bool:
        """Whether the part is smaller after this step."""
        return bool(len(self.removed) or len(self.forced))

    @property
    def size(self) -> int:
        """How many bytes its arrays take."""
        arrays = [getattr(self, one.name) for one in fields(self)]
        return sum(one.nbytes for one in (*arrays, *self.splits) if isinstance(one, np.ndarray))
