"""The optimum of a small instance by trying everything; nothing here is shared with qpopt's own.

Without demands the sets of a selection are one matching. With demands they are tried class by
class, in whole numbers, so that nothing is lost to rounding whatever the size of the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import fsum
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from qpopt import Average, Instance


class Choice(NamedTuple):
    """A set for a class: what it is worth, and its features, present and absent, as bits."""

    worth: int
    present: int
    absent: int

    @property
    def features(self) -> int:
        """All of its features."""
        return self.present | self.absent


def optimum(instance: Instance) -> float | None:
    """Return the largest Z; None where there is no solution."""
    if instance.demands:
        return _best_under_demands(instance)
    best = -np.inf
    for selection in _selections(instance):
        sets = list(combinations(selection, instance.n_per_class))
        # Classes differ by what they have in common only, so that large constants cost no digits.
        A = instance.A - instance.A[:, selection].min(axis=1, keepdims=True)
        gains = np.array([[A[c, list(one)].sum() for one in sets] for c in range(len(A))])
        size = float(np.abs(gains).max()) or 1.0
        _, chosen = linear_sum_assignment(gains / size, maximize=True)
        terms = [instance.A[c, d] for c, j in enumerate(chosen) for d in sets[j]]
        terms += [-instance.R[d, e] for d, e in combinations(selection, 2)]
        best = max(best, fsum([*terms, *instance.b[selection]]))
    return float(best)


def _selections(instance: Instance) -> Iterator[list[int]]:
    fixed = set(instance.include)
    free = [d for d in range(instance.n_features) if d not in {*fixed, *instance.exclude}]
    for rest in combinations(free, instance.n_select - len(fixed)):
        yield sorted([*fixed, *rest])


def _best_under_demands(instance: Instance) -> float | None:
    ratios = [
        [value.as_integer_ratio() for value in values.ravel().tolist()]
        for values in (instance.A, instance.R, instance.b)
    ]
    # Floats are whole numbers over powers of two; gamma may be one half.
    unit = 2 * max(denominator for values in ratios for _, denominator in values)
    A, R, b = ([top * (unit // bottom) for top, bottom in values] for values in ratios)
    n, best = instance.n_features, None
    for selection in _selections(instance):
        rest = sum(b[d] for d in selection)
        rest -= sum(R[d * n + e] for d, e in combinations(selection, 2))
        rows = [A[c * n : (c + 1) * n] for c in range(instance.n_classes)]
        # With sizes that are given on average only, every feature may cost the same: the sum is.
        price = sum(row[d] for row in rows for d in selection) // (len(rows) * len(selection))
        paid = price * instance.n_per_class * len(rows) if _averages(instance) else 0
        rest += paid
        choices = [
            _choices(instance, c, row, selection, price if paid else 0)
            for c, row in enumerate(rows)
        ]
        if all(choices):
            found = _Sets(instance, selection, choices).best(None if best is None else best - rest)
            best = best if found is None else found + rest
    return None if best is None else float(Fraction(best, unit))


def _averages(instance: Instance) -> bool:
    return isinstance(instance.demands.budget, Average)


def _choices(
    instance: Instance, c: int, row: list[int], selection: list[int], price: int
) -> list[Choice]:
    """Return every set that a class may have by itself, the best first, less what features cost."""
    demands = instance.demands
    forbidden = {d for e, d in demands.forbidden if e == c}
    required = {d for e, d in demands.required if e == c}
    most_negative, gamma = demands.negative or (0, 1.0)
    sizes: range | tuple[int, ...] = (instance.n_per_class,)
    if isinstance(demands.budget, Average):
        sizes = range(demands.budget.least, (demands.budget.most or instance.n_select) + 1)
    elif demands.budget is not None:
        sizes = (demands.budget[c],)
    found = []
    for size in sizes:
        for chosen in combinations([d for d in selection if d not in forbidden], size):
            if not required <= set(chosen):
                continue
            for number in range(min(most_negative, size) + 1):
                for away in combinations([d for d in chosen if d not in required], number):
                    here = [d for d in chosen if d not in away]
                    # gamma is a power of two, so this loses nothing.
                    absence = int(2 * gamma) * sum(row[d] for d in away) // 2
                    worth = sum(row[d] for d in here) - absence - price * size
                    found.append(Choice(worth, _bits(here), _bits(away)))
    return sorted(found, reverse=True)


def _bits(features: list[int] | tuple[int, ...]) -> int:
    return sum(1 << d for d in features)


class _Sets:
    """The best sets of one selection: a walk through the classes."""

    def __init__(
        self, instance: Instance, selection: list[int], choices: list[list[Choice]]
    ) -> None:
        demands = instance.demands
        self._selection, self._choices = selection, choices
        self._demands, self._k = demands, instance.n_per_class
        self._joined = {frozenset(pair) for pair in demands.pairs}
        self._uses = demands.classes_per_feature or (0, instance.n_classes)
        total = instance.n_per_class * instance.n_classes
        self._total = total if _averages(instance) else None
        best = [one[0].worth for one in choices]
        self._ahead = [sum(best[c:]) for c in range(len(best) + 1)]

    def best(self, beat: int | None) -> int | None:
        """Return what the best sets are worth, or None where that does not beat a value."""
        self._best, self._found = beat, False
        self._walk([], 0)
        return self._best if self._found else None

    def _walk(self, chosen: list[Choice], worth: int) -> None:
        c = len(chosen)
        if c == len(self._choices):
            if self._complete(chosen) and (self._best is None or worth > self._best):
                self._best, self._found = worth, True
            return
        for choice in self._choices[c]:
            reached = worth + choice.worth
            if self._best is not None and reached + self._ahead[c + 1] <= self._best:
                return
            if self._fits(chosen, choice):
                self._walk([*chosen, choice], reached)

    def _fits(self, chosen: list[Choice], new: Choice) -> bool:
        """Tell whether a set may stand beside those of the classes before."""
        for c, other in enumerate(chosen):
            shared = (other.features & new.features).bit_count()
            if (other.present, other.absent) == (new.present, new.absent):
                return False
            if {c, len(chosen)} in self._joined:
                if not _differ_in_one(other, new):
                    return False
            elif self._demands.max_shared is not None and shared > self._demands.max_shared:
                return False
        return all(self._n_users(d, [*chosen, new]) <= self._uses[1] for d in self._selection)

    def _complete(self, chosen: list[Choice]) -> bool:
        if any(self._n_users(d, chosen) < self._uses[0] for d in self._selection):
            return False
        if self._total is not None:
            return sum(one.features.bit_count() for one in chosen) == self._total
        close = sum(_differ_in_one(one, two) for one, two in combinations(chosen, 2))
        return close >= self._demands.n_pairs

    @staticmethod
    def _n_users(feature: int, chosen: list[Choice]) -> int:
        return sum(one.features >> feature & 1 for one in chosen)


def _differ_in_one(one: Choice, two: Choice) -> bool:
    size = one.features.bit_count()
    return size == two.features.bit_count() and (
        (one.features & two.features).bit_count() == size - 1
    )
