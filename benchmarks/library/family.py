"""The instances that the library starts with: structure × size × density of R.

The density of R is what makes an instance hard, so it goes in steps: ε is a fixed number, taken
once from the quantiles of R and rounded, or that of the clique rule where a step says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.library.curation import add_copy, add_source
from benchmarks.library.entries import Entry
from benchmarks.library.library import Library
from benchmarks.library.sources import REAL, Source
from qpopt import generate, redundancy
from qpopt.preprocessing.epsilon import clique_threshold

CLIQUE = "clique"
SEED = 1


class Counts(NamedTuple):
    """The sizes of a member of the family."""

    n_features: int
    n_classes: int
    n_select: int
    n_per_class: int


FAMILY: tuple[tuple[str, Counts, tuple[str | float, ...]], ...] = (
    ("tiny", Counts(12, 6, 5, 2), (CLIQUE,)),
    ("tiny", Counts(14, 8, 6, 3), (0.3,)),
    ("small", Counts(24, 8, 6, 3), (CLIQUE, 0.1, 0.3)),
    ("small", Counts(32, 10, 8, 3), (CLIQUE,)),
    ("medium", Counts(64, 24, 12, 4), (CLIQUE, 0.1, 0.3)),
    ("medium", Counts(128, 50, 20, 5), (CLIQUE, 0.1, 0.3)),
    ("medium", Counts(256, 100, 30, 5), (CLIQUE,)),
)
"""Size, counts, and the steps of the density of R: the clique rule, or a share of all pairs."""
DEMANDING: tuple[tuple[Counts, dict[str, dict[str, Any]]], ...] = (
    (
        Counts(12, 6, 5, 2),
        {
            "cells": {"forbidden": [[0, 3], [1, 7], [4, 0]], "required": [[2, 5]]},
            "uses": {"classes_per_feature": [2, 3]},
            "pairs": {"rho": 0.5},
            "shared": {"max_shared": 0, "pairs": [[0, 1], [2, 3], [4, 5]], "n_select": 9},
            "budget": {"budget": {"least": 1, "most": 4}},
            "negative": {"negative": [1, 1.0]},
        },
    ),
    (
        Counts(24, 8, 6, 3),
        {
            "cells": {"forbidden": [[0, 3], [1, 17], [4, 0], [6, 9]], "required": [[2, 5], [7, 5]]},
            "uses": {"classes_per_feature": [3, 5]},
            "pairs": {"rho": 0.5},
            "shared": {"max_shared": 1, "pairs": [[0, 1], [2, 3]], "n_select": 9},
            "budget": {"budget": {"least": 2, "most": 5}},
            "negative": {"negative": [2, 1.0]},
        },
    ),
)
"""Counts, and for every kind of demand what it changes in the arguments."""
DEMANDING_REAL: dict[str, dict[str, Any]] = {
    "cells": {
        "forbidden": [[c, 10 * c + 3] for c in range(0, 200, 4)],
        "required": [[c, 10 * c + 7] for c in range(0, 200, 40)],
    },
    "uses": {"classes_per_feature": [5, 40]},
    "pairs": {"rho": 0.5},
    "shared": {"max_shared": 3},
    "budget": {"budget": {"least": 2, "most": 8}},
    "negative": {"negative": [2, 1.0]},
}
"""The same for the real instance."""
COMMITTED = ("tiny", "small", "demands")
"""Sizes whose instances are saved as files; others are made on demand."""
STRUCTURES = ("attributes", "clustered", "uniform")

WIDE = "imagenet-resnet50.npz"
REAL_SELECT, REAL_PER_CLASS = (20, 50, 100), (3, 5, 10)
REAL_STEPS = (0.05, 0.35, 0.5)


class Member(NamedTuple):
    """One instance to be made: its name, size and source; committed as a file or not."""

    name: str
    size: str
    source: Source


def build(library: Library) -> Iterator[Entry]:
    """Add every member of the family that the library does not have yet.

    Parameters
    ----------
    library
        The library; its data folder must hold the raw statistics.

    Yields
    ------
    Entry
        Each new entry, as soon as it is in the library.
    """
    for member in [*_synthetic(), *_demanding(), *_real(library)]:
        if member.name in library.entries:
            continue
        arguments = dict(member.source["arguments"])
        if member.size in COMMITTED:
            made = generate(name=member.name, **arguments)
            yield add_copy(library, made, name=member.name, size=member.size, generate=arguments)
        else:
            yield add_source(library, member.source, name=member.name, size=member.size)


def _synthetic() -> Iterator[Member]:
    for size, counts, steps in FAMILY:
        for structure in STRUCTURES:
            for step in steps:
                yield _member(size, structure, counts, step)
        # Its own ε makes the planted selection the best one, so there are no steps.
        yield _member(size, "planted", counts, CLIQUE)


def _demanding() -> Iterator[Member]:
    """Yield an instance of each kind of demand in each of the counts."""
    for counts, demands in DEMANDING:
        for kind, stated in demands.items():
            member = _member("demands", "attributes", counts, CLIQUE)
            source = {**member.source, "arguments": {**member.source["arguments"], **stated}}
            yield Member(f"{member.name}-{kind}", "demands", source)


def _member(size: str, structure: str, counts: Counts, step: str | float) -> Member:
    arguments: dict[str, Any] = {**counts._asdict(), "structure": structure, "seed": SEED}
    label = f"{structure}-{counts.n_features}x{counts.n_classes}"
    if isinstance(step, float):
        arguments["epsilon"] = _quantile(_raw_redundancy(arguments), step)
        label += f"-r{round(100 * step):02d}"
    return Member(label, size, {"kind": "generate", "arguments": arguments})


def _raw_redundancy(arguments: dict[str, Any]) -> NDArray[np.float64]:
    """Return R of a generated instance before anything is dropped, as cosines."""
    unclipped = generate(**arguments, epsilon=None)
    return unclipped.R / float(unclipped.provenance["redundancy_factor"])


def _quantile(R: NDArray[np.float64], share: float) -> float:
    """Return a rounded ε that leaves about that share of the pairs redundant."""
    above = R[np.triu_indices(len(R), 1)]
    return round(float(np.quantile(above, 1 - share)), 4)


def _real(library: Library) -> Iterator[Member]:
    with np.load(library.root / "data" / REAL, allow_pickle=False) as data:
        A = data["A"].astype(np.float64)
    for n_select in REAL_SELECT:
        found = _clique_rule(A, n_select)
        for n_per_class in REAL_PER_CLASS:
            counts = {"n_select": n_select, "n_per_class": n_per_class}
            arguments = {**counts, "bias": "locality", **found}
            yield _from_data(f"cub-{n_select}-{n_per_class}", REAL, arguments)
            if (n_select, n_per_class) == (50, 5):
                for kind, stated in DEMANDING_REAL.items():
                    yield _from_data(f"cub-50-5-{kind}", REAL, {**arguments, **stated})
    R = redundancy(A)
    for share in REAL_STEPS:
        arguments = {"n_select": 50, "n_per_class": 5, "bias": "locality"}
        arguments["epsilon"] = _quantile(R, share)
        yield _from_data(f"cub-50-5-r{round(100 * share):02d}", REAL, arguments)
    with np.load(library.root / "data" / WIDE, allow_pickle=False) as data:
        A = data["A"].astype(np.float64)
    arguments = {"n_select": 50, "n_per_class": 5, **_clique_rule(A, 50)}
    yield _from_data("imagenet-50-5", WIDE, arguments)


def _from_data(name: str, path: str, arguments: dict[str, Any]) -> Member:
    return Member(name, "large", {"kind": "data", "path": path, "arguments": arguments})


def _clique_rule(A: NDArray[np.float64], n_select: int) -> dict[str, Any]:
    """Return ε of the clique rule as a number, with its witness as the hint that the rule gives.

    The search for the clique takes half a minute at 2048 features, too long for every load.
    """
    found = clique_threshold(redundancy(A), n_select)
    return {"epsilon": found.epsilon, "hint": found.clique.tolist()}
