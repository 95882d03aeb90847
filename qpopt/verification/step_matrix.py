"""The matrix M of a step: Z ≤ shift + sᵀMs for every selection s, with what rounding may have lost.

Nothing here is shared with the code that finds bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance
from qpopt.verification.family_check import most_of_family
from qpopt.verification.outward import TINY, lost, upper_sum

if TYPE_CHECKING:
    from qpopt.cuts.families import Family
    from qpopt.cuts.group_cuts import Group
    from qpopt.relaxations.step import Step

Array = NDArray[np.float64]

WITHIN_A_TERM = 16
"""The most operations that make one term of a sum, apart from sums over features or classes."""


LEAST_WEIGHT = 1e-250
"""Smaller weights are not exact to all digits, and thresholds can make much of the rest."""


class Sized(NamedTuple):
    """Numbers, and for each the sum of the absolute values of the terms that it was made of."""

    values: Array
    sizes: Array

    def __add__(self, other: Sized) -> Sized:  # type: ignore[override]
        return Sized(self.values + other.values, self.sizes + other.sizes)

    def __sub__(self, other: Sized) -> Sized:
        return Sized(self.values - other.values, self.sizes + other.sizes)

    def times(self, factor: float) -> Sized:
        """Return all of it times a factor."""
        return Sized(self.values * factor, self.sizes * abs(factor))


class Entries:
    """A symmetric matrix under construction, which counts what is added to it."""

    def __init__(self, n: int) -> None:
        self.values = np.zeros((n, n))
        self.sizes = np.zeros((n, n))
        self.additions = 0

    def add(self, index: Any, term: Sized) -> None:
        """Add a term to some entries."""
        self.values[index] += term.values
        self.sizes[index] += term.sizes
        self.additions += 1

    def add_diagonal(self, term: Sized) -> None:
        """Add a term to the diagonal."""
        place = np.arange(len(self.values))
        self.add((place, place), term)

    def add_row(self, i: int, term: Sized) -> None:
        """Add s_i · (term · s): half on either side of the diagonal, all of it for i itself."""
        half = term.times(0.5)
        self.add((i, slice(None)), half)
        self.values[:, i] += half.values
        self.sizes[:, i] += half.sizes
        self.additions += 1

    def upper(self, operations: int) -> Array:
        """Return a matrix that the exact one nowhere exceeds.

        Parameters
        ----------
        operations
            How many operations made a term, at the most.
        """
        margin = lost(self.additions + operations + 2)
        result: Array = self.values + (margin * self.sizes + (self.additions + operations) * TINY)
        if not np.isfinite(result).all():
            raise InvalidCertificate("The numbers of a step are too large to add them up.")
        return result


def step_matrix(instance: Instance, step: Step, m: int) -> tuple[Array, float]:
    """Return M with Z ≤ shift + sᵀMs for every selection s of the part that the step is about.

    Parameters
    ----------
    instance, step
        The instance and the step, which has passed the schema.
    m
        How many free features are selected, at least 1.

    Returns
    -------
    tuple
        M, rounded up, and the shift: what is certain of Z, m · t, and the limits of the cuts.
    """
    M = Entries(len(step.free))
    chosen = step.included
    M.add((slice(None), slice(None)), _exact(-instance.R[np.ix_(step.free, step.free)] / 2))
    doubled = _add_gains(M, instance, step, m)
    loss = instance.R[np.ix_(step.free, chosen)].sum(axis=1)
    bias = instance.b[step.free]
    M.add_diagonal(Sized(bias - loss, np.abs(bias) + loss))
    _subtract_multipliers(M, step, m)
    largest = max((len(group.classes) for group in step.groups), default=0)
    operations = WITHIN_A_TERM + len(chosen) + 2 * largest
    limits = [
        0.5 * nu * (level * (level + 1))
        for (level, _, _), nu in zip(step.cuts, step.multipliers.tolist(), strict=True)
    ]
    pairs = instance.R[np.ix_(chosen, chosen)][np.triu_indices(len(chosen), 1)]
    certain = [*instance.b[chosen].tolist(), *(-pairs).tolist()]
    terms = [*certain, *limits, m * step.t]
    # The limits and m · t are products, rounded before they are added up.
    rounding = lost(4) * upper_sum([*limits, abs(m * step.t)]) + (len(limits) + 1) * TINY
    return M.upper(operations), upper_sum([*terms, doubled, rounding])


def _exact(values: Array) -> Sized:
    return Sized(values, np.abs(values))


def _add_gains(M: Entries, instance: Instance, step: Step, m: int) -> float:
    """Add what the classes gain at most; return what classes that count too often may add to it.

    The groups of a class and its own cuts stand for all of it. Where its groups alone stand for
    more, by rounding, the excess counts with the least that the class can gain.
    """
    taken: list[list[float]] = [[] for _ in range(instance.n_classes)]
    for group in step.groups:
        for c in group.classes:
            taken[c].append(group.share)
        _add_group(M, instance, step, m, group)
    doubled = []
    for c, shares in enumerate(taken):
        # Sums by fsum are rounded once: `left` is off by no more than EPS, relative to itself.
        left = fsum([1.0, *(-share for share in shares)])
        if left < -1e-9:
            raise InvalidCertificate("The groups of a class stand for more than all of it.")
        if left < 0:
            doubled.append(-left * instance.n_per_class * float(np.abs(instance.A[c]).max()))
        elif left > 0:
            for feature, given, otherwise, weight in _class_cuts(step, c, left):
                _add_split(M, instance, step, m, c, (feature, given, otherwise), weight)
    return (1.0 + lost(8)) * upper_sum(doubled) if doubled else 0.0


def _class_cuts(step: Step, c: int, left: float) -> Iterator[tuple[int, float, float, float]]:
    """Yield the cuts of one class with their weights, which add up to `left`."""
    splits = step.splits
    own = np.flatnonzero(splits.classes == c)
    shares = splits.shares[own].tolist()
    total = fsum(shares)
    if not shares or min(shares) < 0 or abs(total - 1) > 1e-9:
        raise InvalidCertificate(f"The shares of class {c} do not add up to 1.")
    for i, share in zip(own.tolist(), shares, strict=True):
        weight = left * share / total
        if share > 0 and weight < LEAST_WEIGHT:
            raise InvalidCertificate(f"A share of class {c} is too small to reckon with.")
        if share > 0:
            thresholds = float(splits.given[i]), float(splits.otherwise[i])
            yield int(splits.feature[i]), *thresholds, weight


def _add_split(
    M: Entries,
    instance: Instance,
    step: Step,
    m: int,
    c: int,
    cut: tuple[int, float, float],
    weight: float,
) -> None:
    """Add what class c gains at most, with two thresholds for one feature.

    If the feature is not selected, class c gains at most k · otherwise and what its features are
    above that; if it is, the same with `given`.
    """
    feature, given, otherwise = cut
    outside = _threshold_gains(instance, step, c, otherwise)
    within = _threshold_gains(instance, step, c, given) if feature >= 0 else outside
    _add_parted(M, m, feature, within, outside, weight)


def _add_parted(
    M: Entries,
    m: int,
    feature: int,
    within: tuple[Sized, Sized],
    outside: tuple[Sized, Sized],
    weight: float,
) -> None:
    """Add what holds where a feature is selected, and what holds where it is not.

    Either is what every free feature gains, and what is gained in any case; the feature −1 stands
    for none.
    """
    gains, least = outside
    M.add_diagonal((gains + least.times(1 / m)).times(weight))
    if feature >= 0:
        row, more = within[0] - gains, within[1] - least
        row.values[feature] += more.values
        row.sizes[feature] += more.sizes
        M.add_row(feature, row.times(weight))


def _threshold_gains(
    instance: Instance, step: Step, c: int, threshold: float
) -> tuple[Sized, Sized]:
    """Return what class c gains by every free feature above a threshold, and at least."""
    gains = np.maximum(instance.A[c] - threshold, 0.0)
    base = instance.n_per_class * threshold
    above = gains[step.included].sum()
    return _exact(gains[step.free]), Sized(base + above, abs(base) + above)


def _add_group(M: Entries, instance: Instance, step: Step, m: int, group: Group) -> None:
    """Add what the distinct sets of some classes gain, with multipliers for either case."""
    multipliers = group.thresholds, group.sigma, group.family
    outside = within = _group_gains(instance, step, group.classes, *multipliers)
    if group.feature >= 0:
        multipliers = group.given, group.given_sigma, group.given_family
        within = _group_gains(instance, step, group.classes, *multipliers)
    _add_parted(M, m, group.feature, within, outside, group.share)


def _group_gains(
    instance: Instance,
    step: Step,
    classes: tuple[int, ...],
    thresholds: Array,
    sigma: float,
    family: Family | None,
) -> tuple[Sized, Sized]:
    """Return what distinct sets of some classes gain by every free feature, and at least.

    Of q classes, j may use a feature; every two of their sets have a feature in which they differ,
    so the number of shared features, counted once for every pair, is at most (k − 1)q(q − 1)/2;
    where σ is negative, the group is a pair of classes that share just that many.
    """
    if family is not None:
        return _family_gains(instance, step, classes, thresholds, family)
    k, q = instance.n_per_class, len(classes)
    excess = instance.A[list(classes)] - thresholds[:, None]
    falling = -np.sort(-excess, axis=0)
    best = sums = np.zeros(instance.n_features)
    for j in range(1, q + 1):
        sums = sums + falling[j - 1]
        best = np.maximum(best, sums - sigma * (j * (j - 1) / 2))
    # Every one of the sums is made of these, so its error is one of them.
    sizes = np.abs(excess).sum(axis=0) + abs(sigma) * (q * (q - 1) / 2)
    pairs = sigma * ((k - 1) * q * (q - 1) / 2)
    least = k * thresholds.sum() + pairs + best[step.included].sum()
    least_size = k * np.abs(thresholds).sum() + abs(pairs) + sizes[step.included].sum()
    return Sized(best[step.free], sizes[step.free]), Sized(least, least_size)


def _family_gains(
    instance: Instance, step: Step, classes: tuple[int, ...], thresholds: Array, family: Family
) -> tuple[Sized, Sized]:
    """Return the same where all sets of a core are looked at; other features pay thresholds."""
    k, rows = instance.n_per_class, instance.A[list(classes)]
    excess = rows - thresholds[:, None]
    gains, sizes = np.maximum(excess, 0.0).sum(axis=0), np.abs(excess).sum(axis=0)
    gains[family.core] = sizes[family.core] = family.prices
    most = most_of_family(rows, family, thresholds, k)
    least = k * thresholds.sum() + most + gains[step.included].sum()
    least_size = k * np.abs(thresholds).sum() + most + sizes[step.included].sum()
    return Sized(gains[step.free], sizes[step.free]), Sized(least, least_size)


def _subtract_multipliers(M: Entries, step: Step, m: int) -> None:
    """Subtract D with sᵀDs ≤ m · t + the limits of the cuts, for every s of m features.

    For such s the y-part vanishes and the t-part is m · t. Every cut is half of
    u² − (2q + 1)u ≥ −q(q + 1) for a whole number u = σ · s, negated.
    """
    y = step.y
    pairs = (y[:, None] + y[None, :]) / -2
    sizes = (np.abs(y)[:, None] + np.abs(y)[None, :]) / 2
    np.fill_diagonal(pairs, (m - 1) * y - step.t)
    np.fill_diagonal(sizes, (m - 1) * np.abs(y) + abs(step.t))
    M.add((slice(None), slice(None)), Sized(pairs, sizes))
    for (level, plus, minus), nu in zip(step.cuts, step.multipliers.tolist(), strict=True):
        members = np.array([*plus, *minus], dtype=np.int64)
        sigma = np.array([1.0] * len(plus) + [-1.0] * len(minus))
        form = np.outer(sigma, sigma) - np.diag((2 * level + 1) * sigma)
        M.add(np.ix_(members, members), _exact(0.5 * nu * form))
