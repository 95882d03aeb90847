"""Overlap cuts: what several classes can gain together when their sets must differ.

Let q classes have distinct sets T_c of k selected features, and let j_d of them contain feature d.
Any two sets share at most k − 1 features, so Σ_d j_d(j_d − 1)/2 ≤ (k − 1) q(q − 1)/2, and for any
thresholds τ_c and σ ≥ 0

    Σ_c Σ_{T_c} a_cd ≤ Σ_c kτ_c + σ(k − 1) q(q − 1)/2 + Σ_d s_d max_j [ (sum of the j largest of
    a_cd − τ_c over c) − σ j(j − 1)/2 ],

which is linear in s like a threshold cut. Two classes that are a pair share exactly k − 1 features:
then the same holds for every σ, also below 0, and the best cut is the best pair of a whole
selection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

Vector = NDArray[np.float64]

LOWEST_WEIGHT = 1e-9
"""What is selected less than this is not selected."""


@dataclass(frozen=True)
class OverlapParams:
    """Which groups of classes get an overlap cut.

    Parameters
    ----------
    most_groups
        How many at once.
    largest_group
        The most classes of a group; the linear program of a cut grows with their square.
    """

    most_groups: int = 60
    largest_group: int = 8


class OverlapCut(NamedTuple):
    """One cut: what the classes gain together is at most constant + gains · s."""

    classes: tuple[int, ...]
    thresholds: Vector
    sigma: float
    constant: float
    gains: Vector


def overlap_cut(
    A: Vector, classes: tuple[int, ...], thresholds: Vector, sigma: float, k: int
) -> OverlapCut:
    """Return the cut of given thresholds and σ; A is classes × features, k those of a class.

    It holds for σ ≥ 0, and for two classes that are a pair for every σ.
    """
    q = len(classes)
    excess = -np.sort(thresholds[:, None] - A[list(classes)], axis=0)
    count = np.arange(1, q + 1)[:, None]
    together = np.cumsum(excess, axis=0) - sigma * (count * (count - 1) / 2)
    gains = np.maximum(together.max(axis=0), 0.0)
    constant = k * float(thresholds.sum()) + sigma * (k - 1) * q * (q - 1) / 2
    return OverlapCut(classes, thresholds, sigma, constant, gains)


def best_overlap(A: Vector, classes: tuple[int, ...], weight: Vector, k: int) -> OverlapCut:
    """Return the strongest cut for some classes at a fractional selection.

    Its thresholds are the multipliers of a small linear program: every class takes k of the
    selection, and the overlaps, with one more variable o_d ≥ the convex hull of j(j − 1)/2, are
    limited. `weight` says how much every feature is selected; all else is as for `overlap_cut`.
    """
    rows = A[list(classes)]
    used = np.flatnonzero(weight > 1e-7)
    # Only features that some class might take: its best few.
    wanted = np.zeros(len(used), dtype=bool)
    for row in rows:
        order = np.argsort(-row[used], kind="stable")
        reach = int(np.searchsorted(np.cumsum(weight[used][order]), k + 2.0)) + 2
        wanted[order[:reach]] = True
    used = used[wanted]
    thresholds, sigma = _limited_overlap(rows[:, used], weight[used], k)
    return overlap_cut(A, classes, thresholds, max(sigma, 0.0), k)


def _limited_overlap(rows: Vector, weight: Vector, k: int) -> tuple[Vector, float]:
    """Solve the small linear program; return its multipliers, or valid ones where it fails."""
    q, n = rows.shape
    objective = np.concatenate([-rows.ravel(), np.zeros(n)])
    feature = np.tile(np.arange(n), q)
    taken = np.arange(q * n)
    each = coo_array((np.ones(q * n), (taken // n, taken)), shape=(q, q * n + n))
    entries, index, column, limit = [], [], [], []
    for j in range(1, q):
        # o_d ≥ j · (how many take d) − s_d j(j + 1)/2
        first = (j - 1) * n
        entries += [np.full(q * n, float(j)), np.full(n, -1.0)]
        index += [first + feature, first + np.arange(n)]
        column += [taken, q * n + np.arange(n)]
        limit.append(weight * j * (j + 1) / 2)
    last = (q - 1) * n
    entries.append(np.ones(n))
    index.append(np.full(n, last))
    column.append(q * n + np.arange(n))
    limit.append(np.array([(k - 1) * q * (q - 1) / 2]))
    overlaps = coo_array(
        (np.concatenate(entries), (np.concatenate(index), np.concatenate(column))),
        shape=(last + 1, q * n + n),
    )
    upper = np.concatenate([np.tile(weight, q), np.full(n, np.inf)])
    result = linprog(
        objective,
        A_ub=overlaps.tocsr(),
        b_ub=np.concatenate(limit),
        A_eq=each.tocsr(),
        b_eq=np.full(q, float(k)),
        bounds=np.column_stack([np.zeros(len(upper)), upper]),
        method="highs",
    )
    if result.status != 0:
        return np.full(q, float(rows.mean())), 0.0
    return -result.eqlin.marginals, -float(result.ineqlin.marginals[-1])


def shares(order: NDArray[np.integer], weight: Vector, k: int) -> Vector:
    """Return how much of every column each class takes, up to k in all, best first.

    `order` has the columns of every class by falling similarity, `weight` how much each counts.
    """
    ordered = weight[order]
    before = np.cumsum(ordered, axis=1) - ordered
    taken = np.clip(k - before, 0.0, ordered)
    share = np.zeros(order.shape)
    np.put_along_axis(share, order, taken, axis=1)
    return share


def crowded_groups(
    share: Vector, weight: Vector, k: int, params: OverlapParams = OverlapParams()
) -> list[tuple[int, ...]]:
    """Return groups of classes that share more than k − 1 features in the average of their pairs.

    Where a feature is half selected and two classes take all of that half, they share half of it:
    what counts is how much of the feature they take where it is selected. `share` is what `shares`
    returns for `weight` and k.
    """
    taken = share / np.sqrt(np.maximum(weight, LOWEST_WEIGHT))
    together = taken @ taken.T
    np.fill_diagonal(together, 0.0)
    groups: dict[tuple[int, ...], float] = {}
    first, second = np.nonzero(np.triu(together > k - 1 + 1e-6, 1))
    closest = np.argsort(-together[first, second], kind="stable")[: 2 * params.most_groups]
    first, second = first[closest], second[closest]
    for c, other in zip(first.tolist(), second.tolist(), strict=True):
        members = [c, other]
        total = together[c] + together[other]
        excess = float(together[c, other]) - (k - 1)
        groups[tuple(members)] = excess
        while len(members) < params.largest_group:
            total[members] = -np.inf
            best = int(total.argmax())
            gain = float(total[best]) - len(members) * (k - 1)
            if gain <= 1e-6:
                break
            excess += gain
            members.append(best)
            total = total + together[best]
            groups[tuple(sorted(members))] = excess
    return sorted(groups, key=lambda group: -groups[group])[: params.most_groups]
