"""Instances with demands, drawn at random, and their best solution by trying everything.

It shares no code with qpopt: what is asked for is read off the plain statement, which may just as
well be one that an Instance refuses.
"""

from __future__ import annotations

from itertools import combinations
from math import fsum, inf
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qpopt import Average, Instance
from qpopt.errors import InfeasibleInstance, InvalidInstance
from tests.strategies import redundancies

KINDS = (
    "forbidden", "required", "classes_per_feature", "pairs", "n_pairs", "max_shared", "budget",
    "average", "negative",
)  # fmt: skip
APART = (
    {"pairs", "n_pairs"}, {"pairs", "average"}, {"n_pairs", "average"}, {"n_pairs", "budget"},
    {"n_pairs", "max_shared"}, {"negative", "pairs"}, {"negative", "n_pairs"},
    {"negative", "max_shared"}, {"budget", "average"}, {"pairs", "budget"},
)  # fmt: skip
"""What does not go together; pairs go with budgets only where those are equal."""

TOGETHER = [
    (one, two)
    for one, two in combinations(KINDS, 2)
    if {one, two} not in APART and {one, two} != {"budget", "average"}
]
"""Every two kinds of demands that go together."""


class BestDemanded(NamedTuple):
    """An optimal selection, the signs of every class over it by feature, and Z."""

    objective: float
    selection: tuple[int, ...]
    signs: tuple[dict[int, int], ...]


def statement(A, R, b, n_select, n_per_class, *, include=(), exclude=(), **demands):
    """Return what the arguments of an instance say, unchecked."""
    pairs = demands.get("pairs", ())
    return SimpleNamespace(
        A=np.asarray(A, dtype=float), R=np.asarray(R), b=np.asarray(b),
        n_select=n_select, n_per_class=n_per_class, include=include, exclude=exclude,
        forbidden=demands.get("forbidden", ()), required=demands.get("required", ()),
        classes_per_feature=demands.get("classes_per_feature"),
        pairs=() if isinstance(pairs, int) else pairs,
        n_pairs=pairs if isinstance(pairs, int) else 0,
        max_shared=demands.get("max_shared"), budget=demands.get("budget"),
        negative=demands.get("negative"),
    )  # fmt: skip


def best_demanded(given):
    """Return the best solution of a statement or an instance, or None where there is none."""
    n_classes, n_features = given.A.shape
    q, gamma = given.negative or (0, 1.0)
    best = None
    for selection in combinations(range(n_features), given.n_select):
        if not set(given.include) <= set(selection) or set(given.exclude) & set(selection):
            continue
        constant = [float(given.b[d]) for d in selection]
        constant += [-float(given.R[d, e]) for d, e in combinations(selection, 2)]
        choices = []
        for c in range(n_classes):
            signed = [
                (fsum(_worth(given.A[c, d], sign, gamma) for d, sign in signs.items()), signs)
                for signs in _signed_sets(given, c, selection, q)
            ]
            choices.append(sorted(signed, key=lambda choice: -choice[0]))
        if not all(choices):
            continue
        rest = fsum(constant)
        floor = -inf if best is None else best.objective - rest
        found = _assigned(given, selection, choices, floor)
        if found is not None:
            terms = [*constant]
            for c, signs in enumerate(found):
                terms += [_worth(given.A[c, d], sign, gamma) for d, sign in signs.items()]
            best = BestDemanded(fsum(terms), selection, found)
    return best


def _worth(a, sign, gamma):
    return float(a) if sign > 0 else -gamma * float(a)


def _sizes(given, c):
    if given.budget is None:
        return [given.n_per_class]
    if isinstance(given.budget, Average):
        return range(given.budget.least, (given.budget.most or given.n_select) + 1)
    return [given.budget[c]]


def _signed_sets(given, c, selection, q):
    """Yield every set of features with signs that class c may have by itself."""
    forbidden = {d for e, d in given.forbidden if e == c}
    required = {d for e, d in given.required if e == c}
    usable = [d for d in selection if d not in forbidden]
    for size in _sizes(given, c):
        for features in combinations(usable, size):
            if not required <= set(features):
                continue
            for n_negative in range(min(q, size) + 1):
                for negative in combinations(sorted(set(features) - required), n_negative):
                    yield {d: -1 if d in negative else 1 for d in features}


def _assigned(given, selection, choices, floor):
    """Return the best choice for every class that is worth more than `floor`, or None."""
    n_classes = len(choices)
    # What the classes that still wait can reach at the most.
    ahead = [fsum(choices[c][0][0] for c in range(c, n_classes)) for c in range(n_classes + 1)]
    total = given.n_per_class * n_classes if isinstance(given.budget, Average) else None
    _, most = given.classes_per_feature or (0, n_classes)
    most = n_classes if most is None else most
    joined = {frozenset(pair) for pair in given.pairs}
    best = [floor, None]

    def allowed(chosen, new):
        c = len(chosen)
        for other, signs in enumerate(chosen):
            if signs == new:
                return False
            shared = len(set(signs) & set(new))
            if {c, other} in joined:
                if shared != len(new) - 1 or len(signs) != len(new):
                    return False
            elif given.max_shared is not None and shared > given.max_shared:
                return False
        return all(sum(d in signs for signs in chosen) < most for d in new)

    def complete(chosen):
        if total is not None and sum(map(len, chosen)) != total:
            return False
        least = (given.classes_per_feature or (0, None))[0] or 0
        if any(sum(d in signs for signs in chosen) < least for d in selection):
            return False
        alike = sum(
            len(set(one) & set(two)) == given.n_per_class - 1 and len(one) == len(two)
            for one, two in combinations(chosen, 2)
        )
        return alike >= given.n_pairs

    def deeper(chosen, value):
        c = len(chosen)
        if c == n_classes:
            if complete(chosen):
                best[:] = [value, tuple(chosen)]
            return
        for gain, signs in choices[c]:
            if value + gain + ahead[c + 1] <= best[0] + 1e-12:
                return
            if total is not None and sum(map(len, chosen)) + len(signs) > total:
                continue
            if allowed(chosen, signs):
                deeper([*chosen, signs], value + gain)

    deeper([], 0.0)
    return best[1]


def made(drawn):
    """Return the instance of what `demanded` has drawn, or None where it is refused."""
    arguments, others = drawn
    try:
        return Instance(*arguments, **others)
    except (InfeasibleInstance, InvalidInstance):
        return None


@st.composite
def demanded(draw, kinds=None, max_features=7, max_classes=4):
    """Draw the arguments of an instance with demands of some kinds that go together.

    Returns A, R, b, n_select, n_per_class, and all others by name. Nothing is checked.
    """
    if kinds is None:
        kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True))
        for apart in APART:
            if apart <= set(kinds):
                kinds.remove(sorted(apart)[0])
    n_classes = draw(st.integers(2, max_classes))
    n_features = draw(st.integers(4, max_features))
    n_select = draw(st.integers(3, min(n_features, 5)))
    k = draw(st.integers(1, min(3, n_select - 1)))
    values = st.integers(-9, 9).map(float)
    A = draw(hnp.arrays(np.float64, (n_classes, n_features), elements=values))
    b = draw(hnp.arrays(np.float64, n_features, elements=values))
    cells = st.tuples(st.integers(0, n_classes - 1), st.integers(0, n_features - 1))
    both = [(c, e) for c in range(n_classes) for e in range(c + 1, n_classes)]
    demands = {}
    if "forbidden" in kinds:
        demands["forbidden"] = draw(st.lists(cells, min_size=1, max_size=5, unique=True))
    if "required" in kinds:
        demands["required"] = draw(st.lists(cells, min_size=1, max_size=3, unique=True))
    if "classes_per_feature" in kinds:
        least = draw(st.integers(0, 2))
        demands["classes_per_feature"] = (least, draw(st.integers(max(1, least), n_classes)))
    if "pairs" in kinds:
        demands["pairs"] = draw(
            st.lists(st.sampled_from(both), min_size=1, max_size=2, unique=True)
        )
    if "n_pairs" in kinds:
        demands["pairs"] = draw(st.integers(1, min(3, len(both))))
    if "budget" in kinds:
        sizes = st.integers(1, n_select)
        demands["budget"] = draw(st.lists(sizes, min_size=n_classes, max_size=n_classes))
    if "average" in kinds:
        demands["budget"] = Average(
            draw(st.integers(1, k)), draw(st.none() | st.integers(k, n_select))
        )
    if "negative" in kinds:
        demands["negative"] = (draw(st.integers(1, k)), draw(st.sampled_from([0.5, 1.0, 2.0])))
    if "max_shared" in kinds:
        budget = demands.get("budget")
        largest = k if budget is None else n_select
        if isinstance(budget, list):
            largest = max(budget)
        demands["max_shared"] = draw(st.integers(0, largest - 1))
    if isinstance(demands.get("budget"), Average) and "negative" in demands:
        demands["negative"] = (min(demands["negative"][0], k), demands["negative"][1])
    if isinstance(demands.get("budget"), list) and "negative" in demands:
        q, gamma = demands["negative"]
        demands["negative"] = (min(q, max(demands["budget"])), gamma)
    if isinstance(demands.get("budget"), Average) and demands["budget"].most is not None:
        demands["max_shared"] = (
            min(demands["max_shared"], demands["budget"].most - 1)
            if ("max_shared" in demands)
            else None
        )
    order = draw(st.permutations(range(n_features)))
    return (A, draw(redundancies(n_features)), b, n_select, k), {
        "include": tuple(order[: draw(st.integers(0, 1))]),
        "exclude": tuple(order[n_features - draw(st.integers(0, 1)) :])
        if n_features > n_select
        else (),
        **demands,
    }
