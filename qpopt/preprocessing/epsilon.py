"""The threshold ε below which redundancy is dropped, found through cliques.

The graph that joins d and d' when r_dd' < ε must have a clique of size n_select: a selection
without any redundancy. Finding the smallest such ε means finding n_select features whose largest
pairwise redundancy is as small as possible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEPS_PER_FEATURE = 500
MOST_VISITS = 2_400_000_000
"""Budget of the tabu search: steps, and node visits (one step visits every feature) where those
run out first. Counted, not timed, so that it is the same on every machine."""

MARGIN = 1e-9
"""How far above the largest redundancy of the clique ε lies, relative to it."""


@dataclass(frozen=True)
class CliqueThreshold:
    """The smallest threshold found, and the clique that witnesses it.

    Parameters
    ----------
    epsilon
        Redundancies below it are dropped. It lies between the largest one in the clique and the
        next larger one of all, so recomputing R with other rounding gives the same graph.
    clique
        Sorted features, pairwise less redundant than `epsilon`.
    greedy_epsilon
        What the greedy start alone found.
    """

    epsilon: float
    clique: NDArray[np.int64]
    greedy_epsilon: float


def clique_threshold(
    R: NDArray[np.float64],
    size: int,
    *,
    include: tuple[int, ...] = (),
    exclude: tuple[int, ...] = (),
    seed: int = 0,
    steps: int | None = None,
) -> CliqueThreshold:
    """Find the smallest ε for which the pairs with r < ε contain a clique of the given size.

    A greedy clique with bisection over ε gives the start. A tabu search then looks for a clique
    whose largest redundancy is smaller than that of the last one, over and over, until its budget
    of steps is spent. The budget counts steps, not seconds, so the result depends on the seed
    alone.

    Parameters
    ----------
    R
        Redundancy, symmetric with a zero diagonal.
    size
        The size of the clique.
    include, exclude
        Features that the clique must and must not contain.
    seed
        Seed of the tabu search.
    steps
        Budget of the tabu search; 0 keeps the greedy clique, None takes a few seconds at most.

    Returns
    -------
    CliqueThreshold
        ε, the clique and the ε of the greedy start.
    """
    from qpopt.kernels.redundancy import tabu_clique  # numba takes a second to import

    n = R.shape[0]
    fixed = np.zeros(n, dtype=bool)
    fixed[list(include)] = True
    allowed = np.ones(n, dtype=bool)
    allowed[list(exclude)] = False
    members = greedy_threshold_clique(R, size, fixed, allowed)
    clique = members.copy()
    largest = greedy_largest = _largest_redundancy(R, clique)
    floor = _largest_redundancy(R, np.flatnonzero(fixed))
    state = np.array([np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] | 1], np.uint64)
    if steps is None:
        steps = min(STEPS_PER_FEATURE * n, MOST_VISITS // n)
    patience = max(10_000, 20 * size)
    while steps > 0 and largest > floor:
        closer = _joined(R, np.nextafter(largest, -np.inf))
        made = tabu_clique(closer, fixed, allowed, members, steps, patience, state)
        if made == steps:
            break
        steps -= made
        clique = members.copy()
        largest = _largest_redundancy(R, clique)
    return CliqueThreshold(_just_above(largest, R), np.sort(clique), _just_above(greedy_largest, R))


def greedy_threshold_clique(
    R: NDArray[np.float64], size: int, fixed: NDArray[np.bool_], allowed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Find a clique for a small threshold by min-degree greedy and bisection over the values of R.

    Parameters
    ----------
    R
        Redundancy.
    size
        The size of the clique.
    fixed, allowed
        Masks of the features that the clique must contain and may contain.

    Returns
    -------
    NDArray
        The members of the clique.
    """
    from qpopt.kernels.redundancy import greedy_clique

    values = np.unique(R)
    low, high = 0, len(values) - 1
    mask = allowed
    while low < high:
        middle = (low + high) // 2
        joined = _joined(R, values[middle])
        found = greedy_clique(joined, fixed, allowed, size)
        if found.sum() >= size and _largest_redundancy(R, np.flatnonzero(found)) <= values[middle]:
            high = middle
            mask = found
        else:
            low = middle + 1
    others = np.flatnonzero(mask & ~fixed)[: size - int(fixed.sum())]
    return np.concatenate([np.flatnonzero(fixed), others]).astype(np.int64)


def _joined(R: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """Return the graph of all pairs with a redundancy of at most `threshold`."""
    joined = np.less_equal(R, threshold)
    np.fill_diagonal(joined, False)
    return joined


def _largest_redundancy(R: NDArray[np.float64], clique: NDArray[np.int64]) -> float:
    return float(R[np.ix_(clique, clique)].max(initial=0.0))


def _just_above(value: float, R: NDArray[np.float64]) -> float:
    """Return a number above `value` but not above any larger entry of R."""
    larger = R[value < R]
    following = float(larger.min()) if larger.size else np.inf
    middle = (value + following) / 2
    # Between two neighbouring numbers there is none: then it is the larger one.
    return min(value + MARGIN * max(value, MARGIN), middle if middle > value else following)
