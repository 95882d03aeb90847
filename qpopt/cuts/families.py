"""Family cuts: what a few classes gain together by distinct sets, looked at exactly.

Let F be some classes, C a few features, the core, with prices g_d ≥ 0, and τ_c thresholds. Whoever
uses a feature outside the core gains by it no more than τ_c and what Σ_d∉C (a_cd − τ_c)⁺ s_d pays
for; whoever uses one of the core gains a_cd, and g_d s_d pays for it once, however many classes use
it. So with

    v = max over S_c ⊆ C, |S_c| ≤ k, those of k features distinct, of
        Σ_c Σ_{d∈S_c} (a_cd − τ_c) − Σ_{d∈∪S_c} g_d

the classes gain at most Σ_c kτ_c + v + Σ_{d∈C} g_d s_d + Σ_{d∉C} Σ_c (a_cd − τ_c)⁺ s_d. The maximum
is found by looking at everything, which small families and small cores allow; an overlap cut, see
`qpopt.cuts.overlap`, bounds it by counting pairs, and knows much less of where sets can go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.overlap import OverlapCut
from qpopt.kernels.families.used_sets import best_use
from qpopt.problem.subproblem import Indices, Subproblem

Vector = NDArray[np.float64]

LARGEST_CORE = 16
"""A check looks at all sets of the core."""

ROUNDING = 1e-11
"""What adding up the terms of v can have lost, relative to their size."""


class Family(NamedTuple):
    """What is known of some classes and the core.

    Parameters
    ----------
    core
        The features of the core, by their numbers in the instance.
    prices
        Their prices.
    most
        A value that v does not exceed.
    """

    core: Indices
    prices: Vector
    most: float

    @property
    def size(self) -> float:
        """What its numbers add up to: what rounding is relative to."""
        return self.most + float(self.prices.sum())


def family_of(
    rows: Vector, core: Indices, prices: Vector, thresholds: Vector, k: int, most_parts: int
) -> tuple[Family, int, Indices]:
    """Return the family of given prices, with the features and the sets that reach the most.

    Parameters
    ----------
    rows
        What the classes gain by the features of the core.
    core, prices, thresholds
        The multipliers.
    k
        How many features a class gets.
    most_parts
        As for `best_use`.

    Returns
    -------
    tuple
        The family, and as bits the features used and the set of every class.
    """
    gains = np.ascontiguousarray(rows - thresholds[:, None])
    value, used, sets = best_use(gains, prices, k, most_parts)
    size = float(np.abs(rows).max() + np.abs(thresholds).max()) * rows.size + float(prices.sum())
    return Family(core, prices, value + ROUNDING * size), int(used), sets


def family_cut(
    A: Vector, sub: Subproblem, classes: tuple[int, ...], thresholds: Vector, family: Family
) -> OverlapCut:
    """Return the cut on what the classes gain by all columns A of a subproblem."""
    gains = np.maximum(A[list(classes)] - thresholds[:, None], 0.0).sum(axis=0)
    features = np.concatenate([sub.free, sub.included])
    order = np.argsort(features)
    place = np.minimum(np.searchsorted(features, family.core, sorter=order), len(features) - 1)
    known = features[order[place]] == family.core
    gains[order[place[known]]] = family.prices[known]
    constant = sub.n_per_class * float(thresholds.sum()) + family.most
    return OverlapCut(classes, thresholds, 0.0, constant, gains)
