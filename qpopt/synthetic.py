"""Synthetic instances, by structure and seed.

Every structure makes a raw similarity matrix and a raw bias and hands them to `prepare`. Nothing
here goes through a BLAS, and the raw values are rounded to float32, which swallows differences in
the last bit between mathematical libraries: a seed gives the same instance on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from qpopt.errors import InvalidInstance
from qpopt.preprocessing.prepare import prepare
from qpopt.preprocessing.redundancy import redundancy
from qpopt.problem import validation
from qpopt.problem.instance import Instance

Floats = NDArray[np.float64]


class Sizes(NamedTuple):
    """The four counts of an instance."""

    n_features: int
    n_classes: int
    n_select: int
    n_per_class: int


class Raw(NamedTuple):
    """What a structure makes: raw similarity, raw bias and further arguments of `prepare`."""

    A: Floats
    b: Floats
    options: dict[str, Any]


def generate(
    n_features: int,
    n_classes: int,
    n_select: int,
    n_per_class: int,
    *,
    structure: str = "attributes",
    seed: int = 0,
    **options: Any,
) -> Instance:
    """Make a synthetic instance.

    Parameters
    ----------
    n_features, n_classes, n_select, n_per_class
        The sizes.
    structure
        `attributes`: classes inherit latent attributes in a hierarchy, features are noisy sparse
        mixes of attributes; the most realistic. `clustered`: groups of near-duplicate features.
        `uniform`: no structure; the hardest for bounds. `planted`: the best selection is known and
        recorded in the provenance as `planted`.
    seed
        The same seed gives the same instance.
    options
        Further arguments of `prepare`, for example `redundancy` or `epsilon`.

    Returns
    -------
    Instance
        Its provenance also holds `structure` and `seed`.

    Raises
    ------
    InvalidInstance
        If the structure is unknown.
    InfeasibleInstance
        If the sizes admit no solution.

    Examples
    --------
    >>> import qpopt
    >>> qpopt.generate(60, 20, 10, 3, structure="clustered", seed=1)
    Instance('clustered-60x20-10-3-s1', 20 classes × 60 features, select 10, 3 per class)
    """
    if not isinstance(structure, str) or structure not in STRUCTURES:
        raise InvalidInstance(
            f"structure must be one of {', '.join(STRUCTURES)}, not {structure!r}."
        )
    given = Sizes(n_features, n_classes, n_select, n_per_class)
    sizes = Sizes(*map(validation.count, Sizes._fields, given))
    validation.check_counts(*sizes)
    rng = np.random.default_rng(validation.whole_number("seed", seed, error=InvalidInstance))
    A, b, own = STRUCTURES[structure](rng, sizes)
    for option in ("epsilon", "include", "exclude"):
        if option in options and "epsilon" in own:
            raise InvalidInstance(
                f"{option} cannot be given with the structure {structure}: its best selection "
                "would no longer be known."
            )
    arguments: dict[str, Any] = {
        "name": f"{structure}-{n_features}x{n_classes}-{n_select}-{n_per_class}-s{seed}",
        **own,
        **options,
    }
    arguments["provenance"] = {
        **(options.get("provenance") or {}),
        **own.get("provenance", {}),
        "structure": structure,
    }
    return prepare(
        A.astype(np.float32),
        b.astype(np.float32),
        n_select=sizes.n_select,
        n_per_class=sizes.n_per_class,
        seed=seed,
        **arguments,
    )


def _attributes(rng: Generator, sizes: Sizes) -> Raw:
    n_attributes = max(8, sizes.n_features // 8)
    classes = _inherited_attributes(rng, sizes.n_classes, n_attributes)
    A = _correlations(rng, _mix(rng, classes, sizes.n_features), noise=1.0)
    return Raw(A, rng.random(sizes.n_features) ** 2, {})


def _clustered(rng: Generator, sizes: Sizes) -> Raw:
    n_prototypes = min(sizes.n_features, max(sizes.n_select, sizes.n_features // 6))
    classes = _inherited_attributes(rng, sizes.n_classes, max(8, n_prototypes // 2))
    prototypes = _mix(rng, classes, n_prototypes)
    # Every cluster has a member, the rest fall anywhere.
    spare = rng.integers(n_prototypes, size=sizes.n_features - n_prototypes)
    cluster = rng.permutation(np.concatenate([np.arange(n_prototypes), spare]))
    means = prototypes[:, cluster]
    means = means + 0.15 * means.std(axis=0) * rng.standard_normal(means.shape)
    return Raw(_correlations(rng, means, noise=0.5), rng.random(sizes.n_features) ** 2, {})


def _uniform(rng: Generator, sizes: Sizes) -> Raw:
    A = rng.uniform(-1.0, 1.0, (sizes.n_classes, sizes.n_features))
    return Raw(A, rng.random(sizes.n_features), {})


def _planted(rng: Generator, sizes: Sizes) -> Raw:
    """Give every class the largest similarity exactly to its set of planted features.

    With ε just above the redundancy among the planted features they are free of it, and their
    bias is the largest, so each of the three parts of Z takes its best possible value.
    """
    planted = np.sort(rng.choice(sizes.n_features, sizes.n_select, replace=False))
    A = rng.uniform(-0.5, 0.9, (sizes.n_classes, sizes.n_features)).astype(np.float32)
    A[:, planted] = 0.0
    for c, members in enumerate(_balanced_sets(rng, sizes)):
        A[c, planted[members]] = 1.0
    b = rng.uniform(0.0, 0.8, sizes.n_features)
    b[planted] = 1.0
    among = redundancy(A[:, planted])
    options = {
        "epsilon": float(np.nextafter(among.max(), np.inf)),
        "provenance": {"planted": planted},
    }
    return Raw(A.astype(np.float64), b, options)


STRUCTURES: dict[str, Callable[[Generator, Sizes], Raw]] = {
    "attributes": _attributes,
    "clustered": _clustered,
    "uniform": _uniform,
    "planted": _planted,
}


def _inherited_attributes(rng: Generator, n_classes: int, n_attributes: int) -> Floats:
    """Return 0/1 classes × attributes: each class differs a little from the parent it copies."""
    rows = np.empty((n_classes, n_attributes), dtype=bool)
    rows[0] = rng.random(n_attributes) < 0.3
    for c in range(1, n_classes):
        parent = rows[rng.integers(c)]
        flips = rng.random(n_attributes) < 0.25
        fresh = rng.random(n_attributes) < 0.3
        rows[c] = np.where(flips, fresh, parent)
    return rows.astype(np.float64)


def _mix(rng: Generator, attributes: Floats, n_features: int, most: int = 4) -> Floats:
    """Return class means of features that each weigh one to `most` attributes."""
    which = rng.integers(attributes.shape[1], size=(most, n_features))
    weight = rng.uniform(0.3, 1.0, (most, n_features))
    weight *= np.arange(most)[:, None] < rng.integers(1, most + 1, n_features)
    means = np.zeros((attributes.shape[0], n_features))
    for term in range(most):
        means += weight[term] * attributes[:, which[term]]
    return means


def _correlations(rng: Generator, means: Floats, noise: float) -> Floats:
    """Return the Pearson correlation of every feature with every class.

    The classes are equally frequent; `noise` is the spread of a feature within a class, relative
    to the average spread between the classes. The means get a small disturbance of their own, so
    that no two features are alike.
    """
    n_classes = means.shape[0]
    means = means + 0.1 * rng.standard_normal(means.shape)
    centred = means - means.mean(axis=0)
    between = (centred * centred).mean(axis=0)
    spread = np.sqrt(between + noise**2 * between.mean() + 1e-12)
    A: Floats = centred / (spread * np.sqrt(max(n_classes - 1, 1)))
    return A


def _balanced_sets(rng: Generator, sizes: Sizes) -> list[list[int]]:
    """Return distinct sets, one for each class, that use all features about equally often."""
    uses = np.zeros(sizes.n_select)
    taken: dict[tuple[int, ...], None] = {}
    while len(taken) < sizes.n_classes:
        crowding = 0.0
        while True:
            order = np.argsort(uses + (1.0 + crowding) * rng.random(sizes.n_select))
            members = tuple(sorted(order[: sizes.n_per_class].tolist()))
            if members not in taken:
                break
            crowding += 1.0
        taken[members] = None
        uses[list(members)] += 1
    return [list(members) for members in taken]
