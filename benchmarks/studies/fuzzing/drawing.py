"""Small random instances of every kind and size: plain, crowded, and with demands.

In a crowded one classes are alike and want the same few features, so that several of them must be
looked at together before a bound says much: groups and families have their say.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt import Average, Instance, InvalidInstance

Matrix = NDArray[np.float64]

SCALES = (1.0, 1.0, 1e-300, 1e-30, 1e-12, 1e-9, 1e-7, 1e-6, 1e-3, 1e3, 1e9, 1e30, 1e80)
SHIFTS = (0.0, 0.0, 0.0, 1e3, 1e9, 1e12)
MOST_TRIES = 1000


def draw(seed: int, number: int) -> Instance:
    """Return one instance of a run: plain, with demands, crowded, and with demands again."""
    kind = (plain, demanding, crowded, demanding)[number % 4]
    return kind(np.random.default_rng([seed, number]))


def plain(rng: np.random.Generator) -> Instance:
    """Return an instance without demands."""
    while True:
        n, m, k = int(rng.integers(2, 10)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        if k <= m <= n:
            break
    classes = int(rng.integers(1, min(7, comb(m, k)) + 1))
    return _instance(rng, classes, n, m, k, scale=float(rng.choice(SCALES)))


def crowded(rng: np.random.Generator) -> Instance:
    """Return an instance of many alike classes, for which a few features have to do."""
    m, k = ((3, 1), (4, 2), (5, 2), (5, 3), (6, 2), (6, 3))[int(rng.integers(6))]
    n, classes = int(rng.integers(m + 2, 13)), int(rng.integers(3, min(8, comb(m, k)) + 1))
    own = float(rng.choice([0.01, 0.1, 0.5, 5.0]))
    A = rng.uniform(0, 1, n) + own * rng.uniform(0, 1, (classes, n))
    R = _redundancy(rng, n) * float(rng.choice([0.0, 0.0, 0.05, 0.3]))
    scale = float(rng.choice([1.0, 1e-30, 1e9]))
    return Instance(A * scale, R * scale, np.zeros(n), m, k, name=f"crowded ×{scale:g}")


def demanding(rng: np.random.Generator) -> Instance:
    """Return an instance with one to three kinds of demands; it may have no solution."""
    for _ in range(MOST_TRIES):
        n, m = int(rng.integers(4, 8)), int(rng.integers(2, 6))
        if m > n:
            continue
        k, classes = int(rng.integers(1, min(3, m) + 1)), int(rng.integers(2, 5))
        names = rng.choice(list(DEMANDS), size=int(rng.integers(1, 4)), replace=False).tolist()
        stated: dict[str, Any] = {}
        for name in names:
            stated |= DEMANDS[name](rng, classes, n, m, k)
        scale = float(rng.choice([1.0, 1.0, 1.0, 1e-300, 1e-7, 1e30]))
        try:
            return _instance(rng, classes, n, m, k, scale=scale, **stated)
        except InvalidInstance:  # They do not go together, or are counted out.
            continue
    raise AssertionError(f"None of {MOST_TRIES} instances with demands was one.")


def _instance(
    rng: np.random.Generator, classes: int, n: int, m: int, k: int, *, scale: float, **demands: Any
) -> Instance:
    shape = (classes, n)
    A = (
        rng.uniform(-1, 1, shape),
        rng.uniform(0, 1, shape),
        rng.integers(0, 3, shape).astype(float),
        np.tile(rng.uniform(0, 1, n), (classes, 1)),
        rng.lognormal(0, 3, shape),
        np.zeros(shape),
    )[int(rng.integers(6))]
    R = _redundancy(rng, n) * float(rng.choice([0.0, 0.3, 1.0, 30.0]))
    b = rng.uniform(-1, 1, n) * float(rng.choice([0.0, 0.3, 3.0]))
    shift = float(rng.choice(SHIFTS))
    A, b = A + shift, b - shift * k * classes / m
    order = rng.permutation(n).tolist()
    n_include = int(rng.integers(0, 2)) if m > 1 else 0
    n_exclude = int(rng.integers(0, 2)) if n > m else 0
    return Instance(
        A * scale, R * scale, b * scale, m, k,
        include=order[:n_include], exclude=order[n - n_exclude :],
        name=f"×{scale:g} +{shift:g}", **demands,
    )  # fmt: skip


def _redundancy(rng: np.random.Generator, n: int) -> Matrix:
    R = np.triu(rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < rng.random()), 1)
    return R + R.T


Drawn = Callable[[np.random.Generator, int, int, int, int], dict[str, Any]]


def _cells(name: str, most: int) -> Drawn:
    def drawn(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
        number = int(rng.integers(1, most + 1))
        cells = rng.integers(0, [classes, n], (number, 2))
        return {name: sorted({(c, d) for c, d in cells.tolist()})}

    return drawn


def _uses(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
    least = int(rng.integers(0, 3))
    return {"classes_per_feature": (least, int(rng.integers(max(1, least), classes + 2)))}


def _pairs(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
    first = [rng.choice(classes, 2, replace=False).tolist() for _ in range(rng.integers(1, 3))]
    return {"pairs": sorted({(min(pair), max(pair)) for pair in first})}


def _number_of_pairs(
    rng: np.random.Generator, classes: int, n: int, m: int, k: int
) -> dict[str, Any]:
    return {"pairs": int(rng.integers(1, 4))}


def _shared(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
    return {"max_shared": int(rng.integers(0, k))}


def _budget(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
    return {"budget": rng.integers(1, m + 1, classes).tolist()}


def _average(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
    most = None if rng.random() < 0.5 else int(rng.integers(k, m + 1))
    return {"budget": Average(int(rng.integers(1, k + 1)), most)}


def _negative(rng: np.random.Generator, classes: int, n: int, m: int, k: int) -> dict[str, Any]:
    return {"negative": (int(rng.integers(1, k + 1)), float(rng.choice([0.5, 1.0, 2.0])))}


DEMANDS: dict[str, Drawn] = {
    "forbidden": _cells("forbidden", 12),
    "required": _cells("required", 4),
    "classes_per_feature": _uses,
    "pairs": _pairs,
    "number of pairs": _number_of_pairs,
    "max_shared": _shared,
    "budget": _budget,
    "average": _average,
    "negative": _negative,
}
"""Every kind of demand, and what draws one."""
