"""Small random instances with random mixes of demands, and their optimum by trying everything.

What is asked for is read off the plain arguments, which may just as well be ones that an Instance
refuses: then there must be no solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb, fsum, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt import Average, Instance

CLASHES = (
    {"pairs", "number of pairs"}, {"pairs", "average"}, {"number of pairs", "average"},
    {"number of pairs", "budget"}, {"number of pairs", "max_shared"}, {"negative", "pairs"},
    {"negative", "number of pairs"}, {"negative", "max_shared"}, {"budget", "average"},
)  # fmt: skip
"""Kinds of demands that an instance does not take together."""
KINDS = sorted({*set().union(*CLASHES), "forbidden", "required", "classes_per_feature"})
SCALES = (1.0, 1.0, 1.0, 1e-9, 1e-3, 1e6, 1e30)
SHARE_OF_KINDS = 0.35
"""How likely each kind of demand is where it clashes with none before it."""

MOST_TRIED = 2e7
"""So many combinations of a selection and sets of all classes are tried at the most."""

Signs = dict[int, int]
"""The features of a class, each 1, or −1 where it counts by its absence."""


class Drawn(NamedTuple):
    """What an instance is made of: arrays and counts, and everything else by name."""

    A: NDArray[np.float64]
    R: NDArray[np.float64]
    b: NDArray[np.float64]
    n_select: int
    n_per_class: int
    others: dict[str, Any]

    def instance(self) -> Instance:
        """Make the instance."""
        return Instance(*self[:5], **self.others)


def drawn(rng: np.random.Generator) -> Drawn:
    """Draw what an instance with demands is made of; nothing is checked."""
    while not _quickly_tried(given := _once(rng)):
        pass
    return given


def _quickly_tried(given: Drawn) -> bool:
    """Tell whether all selections and sets are few enough to be tried."""
    m, budget = given.n_select, given.others.get("budget")
    sizes = [given.n_per_class] * len(given.A)
    if isinstance(budget, Average):
        sizes = [m] * len(given.A)
    elif budget is not None:
        sizes = budget
    tried = comb(given.A.shape[1], m)
    for size in sizes:
        lengths = range(1, size + 1) if isinstance(budget, Average) else (size,)
        signs = 2**size if "negative" in given.others else 1
        tried *= signs * sum(comb(m, length) for length in lengths)
    return tried <= MOST_TRIED


def _once(rng: np.random.Generator) -> Drawn:
    n, classes = int(rng.integers(4, 10)), int(rng.integers(2, 6))
    m = int(rng.integers(2, min(n, 6) + 1))
    k = int(rng.integers(1, min(3, m) + 1))
    shape = (classes, n)
    A = (
        rng.uniform(-1, 1, shape),
        rng.uniform(0, 1, shape),
        rng.integers(-2, 3, shape).astype(float),
        rng.lognormal(0, 3, shape),
        np.zeros(shape),
    )[int(rng.choice(5, p=[0.35, 0.25, 0.25, 0.1, 0.05]))]
    R = np.triu(rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < rng.random()), 1)
    R *= float(rng.choice([0.0, 0.3, 1.0, 30.0]))
    b = rng.uniform(-1, 1, n) * float(rng.choice([0.0, 0.3, 3.0]))
    scale = float(rng.choice(SCALES))
    order = rng.permutation(n).tolist()
    others = {
        "include": order[: int(rng.random() < 0.2)],
        "exclude": order[n - int(n > m and rng.random() < 0.2) :],
        **_demands(rng, classes, n, m, k),
    }
    return Drawn(A * scale, (R + R.T) * scale, b * scale, m, k, others)


def _demands(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
    kinds: set[str] = set()
    for kind in rng.permutation(KINDS).tolist():
        clashes = any(kind in clash and clash & kinds for clash in CLASHES)
        if not clashes and rng.random() < SHARE_OF_KINDS:
            kinds.add(kind)

    def cells(most: int) -> list[tuple[int, int]]:
        count = int(rng.integers(1, most + 1))
        return sorted({(int(rng.integers(classes)), int(rng.integers(n))) for _ in range(count)})

    both = list(combinations(range(classes), 2))
    demands: dict[str, Any] = {}
    if "forbidden" in kinds:
        demands["forbidden"] = cells(int(rng.choice([3, 3, 3 * classes])))
    if "required" in kinds:
        demands["required"] = cells(3)
    if "classes_per_feature" in kinds:
        high = int(rng.integers(1, classes + 1))
        demands["classes_per_feature"] = (int(rng.integers(0, min(high, 2) + 1)), high)
    sizes = [k] * classes
    if "budget" in kinds:
        sizes = rng.integers(1, m + 1, classes).tolist()
        demands["budget"] = sizes
    if "average" in kinds:
        least, most = int(rng.integers(1, k + 1)), int(rng.integers(k, m + 1))
        demands["budget"] = Average(least, most)
        sizes = [most]
    if "pairs" in kinds:
        alike = [(c, e) for c, e in both if len(sizes) == 1 or sizes[c] == sizes[e]]
        count = min(len(alike), int(rng.integers(1, 4)))
        if count:
            chosen = rng.choice(len(alike), count, replace=False)
            demands["pairs"] = [alike[i] for i in sorted(chosen)]
    if "number of pairs" in kinds:
        demands["pairs"] = int(rng.integers(1, min(4, len(both)) + 1))
    if "max_shared" in kinds:
        demands["max_shared"] = int(rng.integers(0, max(sizes)))
    if "negative" in kinds:
        gamma = float(rng.choice([0.5, 1.0, 2.0]))
        demands["negative"] = (int(rng.integers(1, max(sizes) + 1)), gamma)
    return demands


def optimum(given: Drawn) -> float | None:
    """Return the largest Z by trying every selection and every set; None without a solution."""
    A, R, b, m, k, others = given
    best = -inf
    fixed, barred = set(others["include"]), set(others["exclude"])
    for selection in combinations(range(A.shape[1]), m):
        if not fixed <= set(selection) or barred & set(selection):
            continue
        constant = [*b[list(selection)], *(-R[d, e] for d, e in combinations(selection, 2))]
        choices = [
            sorted(
                ((_worth(A[c], signs, others), signs) for signs in _sets(given, c, selection)),
                key=lambda choice: -choice[0],
            )
            for c in range(len(A))
        ]
        if not all(choices):
            continue
        rest = fsum(constant)
        assignment = _Assignment(choices, selection, k, others, best - rest)
        assignment.extend()
        if assignment.best is not None:
            terms = [term for c, signs in enumerate(assignment.best) for term in
                     _terms(A[c], signs, others)]  # fmt: skip
            best = max(best, fsum([*constant, *terms]))
    return None if best == -inf else best


def _terms(row: NDArray[np.float64], signs: Signs, others: dict[str, Any]) -> list[float]:
    gamma = others.get("negative", (0, 1.0))[1]
    return [float(row[d]) if sign > 0 else -gamma * float(row[d]) for d, sign in signs.items()]


def _worth(row: NDArray[np.float64], signs: Signs, others: dict[str, Any]) -> float:
    return fsum(_terms(row, signs, others))


def _sets(given: Drawn, c: int, selection: tuple[int, ...]) -> Iterator[Signs]:
    """Yield everything that a class may have by itself."""
    others, budget = given.others, given.others.get("budget")
    required = {d for e, d in others.get("required", ()) if e == c}
    barred = {d for e, d in others.get("forbidden", ()) if e == c}
    sizes = [given.n_per_class]
    if isinstance(budget, Average):
        sizes = list(range(budget.least, (budget.most or given.n_select) + 1))
    elif budget is not None:
        sizes = [budget[c]]
    most_negative = others.get("negative", (0, 1.0))[0]
    for size in sizes:
        for features in combinations([d for d in selection if d not in barred], size):
            if not required <= set(features):
                continue
            for count in range(min(most_negative, size) + 1):
                for absent in combinations([d for d in features if d not in required], count):
                    yield {d: -1 if d in absent else 1 for d in features}


class _Assignment:
    """The best sets of all classes for one selection, class by class."""

    def __init__(
        self,
        choices: list[list[tuple[float, Signs]]],
        selection: tuple[int, ...],
        n_per_class: int,
        others: dict[str, Any],
        floor: float,
    ) -> None:
        self.best: list[Signs] | None = None
        self._value = floor
        self._choices, self._selection = choices, selection
        self._ahead = [fsum(one[0][0] for one in choices[c:]) for c in range(len(choices) + 1)]
        pairs = others.get("pairs", ())
        self._wanted = pairs if isinstance(pairs, int) else 0
        self._joined = set() if isinstance(pairs, int) else {frozenset(pair) for pair in pairs}
        self._most_shared = others.get("max_shared")
        self._uses = others.get("classes_per_feature") or (0, len(choices))
        average = isinstance(others.get("budget"), Average)
        self._total = n_per_class * len(choices) if average else None

    def extend(self, chosen: tuple[Signs, ...] = (), value: float = 0.0) -> None:
        """Give the next class one set after the other."""
        c = len(chosen)
        if c == len(self._choices):
            if self._complete(chosen):
                self.best, self._value = list(chosen), value
            return
        for worth, signs in self._choices[c]:
            if value + worth + self._ahead[c + 1] <= self._value:
                return
            if all(self._fit(c, signs, e, other) for e, other in enumerate(chosen)):
                self.extend((*chosen, signs), value + worth)

    def _fit(self, c: int, signs: Signs, e: int, other: Signs) -> bool:
        if signs == other:
            return False
        shared = len(signs.keys() & other.keys())
        if frozenset((c, e)) in self._joined:
            return len(signs) == len(other) == shared + 1
        return self._most_shared is None or shared <= self._most_shared

    def _complete(self, chosen: tuple[Signs, ...]) -> bool:
        least, most = self._uses
        uses = [sum(d in signs for signs in chosen) for d in self._selection]
        alike = sum(
            len(one) == len(two) == len(one.keys() & two.keys()) + 1
            for one, two in combinations(chosen, 2)
        )
        total = sum(map(len, chosen))
        fits = min(uses) >= least and max(uses) <= most and alike >= self._wanted
        return fits and self._total in (None, total)
