"""Sets of classes that must, or must not, be alike: pairs, and what others may share.

Classes that pairs join form a unit. A unit of two begins with its best two sets, a larger one with
a common part and one more feature for every class; then sets are repaired and improved by exchanges
of a feature, in one class or in all classes of a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist

from qpopt.kernels.demands.set_moves import best_pair, improve_sets
from qpopt.problem.assigning.units import best_of_unit

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance

Mask = NDArray[np.bool_]

SWEEPS = 100
"""How often all classes are gone through at the most."""


class Rules(NamedTuple):
    """What the compiled loops need of the demands on a selection.

    Parameters
    ----------
    values, allowed, required
        Classes × columns: what an assignment is worth, and where it may and must be.
    pair
        Which two classes are a pair.
    most
        How many features two classes may share; a pair shares as many.
    joined, start
        The classes unit by unit, and where the units begin; the end of the last one as well.
    least_gain
        What is worth less than this is nothing.
    """

    values: NDArray[np.float64]
    allowed: Mask
    required: Mask
    pair: Mask
    most: NDArray[np.int64]
    joined: NDArray[np.int64]
    start: NDArray[np.int64]
    least_gain: float


def rules_of(
    instance: Instance,
    selection: NDArray[np.int64],
    sizes: NDArray[np.int64],
    pairs: Sequence[tuple[int, int]],
) -> Rules:
    """Return what holds for the sets of a selection where classes have these sizes."""
    n_classes = instance.n_classes
    values = np.ascontiguousarray(instance.A[:, selection])
    pair = np.zeros((n_classes, n_classes), dtype=bool)
    for c, other in pairs:
        pair[c, other] = pair[other, c] = True
    smaller = np.minimum(sizes[:, None], sizes)
    # Equal sets have equal sizes.
    most = smaller - (sizes[:, None] == sizes)
    if instance.max_shared is not None:
        most = np.where(pair, most, np.minimum(most, instance.max_shared))
    _, unit = connected_components(coo_array(pair), directed=False)
    joined = np.argsort(unit, kind="stable")
    counts = np.bincount(unit)
    return Rules(
        values,
        ~instance.forbidden_cells[:, selection],
        np.ascontiguousarray(instance.required_cells[:, selection]),
        pair,
        np.ascontiguousarray(most, np.int64),
        joined.astype(np.int64),
        np.append(0, np.cumsum(counts)).astype(np.int64),
        1e-12 * max(float(np.abs(values).max()), 1e-9),
    )


def first_sets(rules: Rules, sizes: NDArray[np.int64]) -> Mask:
    """Return sets to begin with: those of pairs are right unless demands are in the way."""
    far = 4.0 * (1.0 + float(sizes.max())) * float(np.abs(rules.values).max())
    values = np.where(rules.allowed, rules.values, -far) + np.where(rules.required, far, 0.0)
    member = np.zeros(values.shape, dtype=bool)
    for first, end in zip(rules.start[:-1].tolist(), rules.start[1:].tolist(), strict=True):
        classes = rules.joined[first:end]
        size = int(sizes[classes[0]])
        if len(classes) == 1:
            member[classes[0], np.argsort(-values[classes[0]], kind="stable")[:size]] = True
        elif len(classes) == 2:
            c, other = classes.tolist()
            best_pair(values[c], values[other], size, member[c], member[other])
        else:
            _common_part(values, classes, size, member)
    return member


def alike_sets(
    instance: Instance, selection: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int8] | None:
    """Return good sets of these sizes that heed pairs and what classes may share, or None.

    Heeds forbidden and required assignments as well, but no other demands.
    """
    pairs = instance.pairs
    if instance.n_pairs:
        pairs = likely_pairs(instance, selection, sizes)
    rules = rules_of(instance, selection, sizes, pairs)
    member = first_sets(rules, sizes)
    wrong = improve_sets(rules, member, SWEEPS)
    return None if wrong else member.astype(np.int8)


def close_sets(
    instance: Instance,
    selection: NDArray[np.int64],
    sizes: NDArray[np.int64],
    over: Callable[[], bool] = lambda: False,
) -> NDArray[np.int8] | None:
    """Return the same for pairs that are named, from nearly the best sets of every large unit.

    That takes seconds and is worth a lot where many classes hang together; None where nothing good
    was found. Once `over` says that it is time to end, no further unit is looked at.
    """
    rules = rules_of(instance, selection, sizes, instance.pairs)
    if over():
        return None
    member, careful = first_sets(rules, sizes), first_sets(rules, sizes)
    for first, end in zip(rules.start[:-1].tolist(), rules.start[1:].tolist(), strict=True):
        classes = rules.joined[first:end]
        if len(classes) > 2 and not over():
            sets = best_of_unit(rules, classes, int(sizes[classes[0]]), over)
            if sets is not None:
                member[classes] = sets
                if len(np.unique(sets, axis=0)) == len(sets):
                    careful[classes] = sets
    # Sets that are still equal cannot always be told apart by single exchanges.
    for found in (member, careful):
        if not improve_sets(rules, found, SWEEPS):
            return found.astype(np.int8)
    return None


def likely_pairs(
    instance: Instance, selection: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[tuple[int, int], ...]:
    """Return as many pairs as there must be, of classes that want nearly the same features.

    Classes come together in units that can have a common part and one more feature each.
    """
    values = instance.A[:, selection]
    first, second = np.triu_indices(instance.n_classes, 1)
    alike = sizes[first] == sizes[second]
    apart = np.where(alike, pdist(values), np.inf)
    unit = np.arange(instance.n_classes)
    count = 0
    for number in np.argsort(apart, kind="stable").tolist():
        if count >= instance.n_pairs or not alike[number]:
            break
        one, other = np.flatnonzero(unit == unit[first[number]]), unit == unit[second[number]]
        others = np.flatnonzero(other)
        most = len(selection) - int(sizes[first[number]]) + 1
        if unit[first[number]] != unit[second[number]] and len(one) + len(others) <= most:
            count += len(one) * len(others)
            unit[others] = unit[one[0]]
    joined = unit[first] == unit[second]
    return tuple(zip(first[joined].tolist(), second[joined].tolist(), strict=True))


def _common_part(
    values: NDArray[np.float64], classes: NDArray[np.int64], size: int, member: Mask
) -> None:
    """Give joined classes the features that are worth most to all, and one more to each."""
    total = values[classes].sum(axis=0)
    order = np.argsort(-total, kind="stable")
    member[np.ix_(classes, order[: size - 1])] = True
    taken = set(order[: size - 1].tolist())
    for c in classes.tolist():
        left = [j for j in np.argsort(-values[c], kind="stable").tolist() if j not in taken]
        if not left:
            left = [j for j in order.tolist() if not member[c, j]]
        member[c, left[0]] = True
        taken.add(left[0])
