"""The threshold ε below which redundancy is dropped, found through cliques.

The graph that joins d and d' when r_dd' < ε must have a clique of size n_select: a selection
without any redundancy. Finding the smallest such ε means finding n_select features whose largest
pairwise redundancy is as small as possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.redundancy import greedy_clique, tabu_clique

STEPS_PER_FEATURE = 500
MOST_VISITS = 2_400_000_000
"""Budget of the tabu search: steps, and node visits (one step visits every feature) where those
run out first. Counted, not timed, so that it is the same on every machine."""

MARGIN = 1e-9
"""How far above the largest redundancy of the clique ε lies, relative to it."""

EXACT_FEATURES = 256
MOST_WORK = 4_000_000
"""Up to how many features an exact search looks for a smaller ε, and when it gives up: a node of it
is charged the square of its features. Counted, not timed; half a second at most on graphs made to
be hard. It decides 30 of 30 random graphs with 64 features, 20 of 30 with 128, half with 256."""


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
    proven
        Whether no smaller ε exists. False means only that no proof was found.
    """

    epsilon: float
    clique: NDArray[np.int64]
    greedy_epsilon: float
    proven: bool


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
    of steps is spent. Where few features are left, an exact search proves that there is none, or
    finds it. All budgets count work, not seconds, so the result depends on the seed alone.

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
        Budget of the tabu search; 0 does without it, None takes a few seconds at most.

    Returns
    -------
    CliqueThreshold
        ε, the clique, the ε of the greedy start and whether ε is proven.
    """
    n = R.shape[0]
    fixed = np.zeros(n, dtype=bool)
    fixed[list(include)] = True
    allowed = np.ones(n, dtype=bool)
    allowed[list(exclude)] = False
    members = greedy_threshold_clique(R, size, fixed, allowed)
    clique = members.copy()
    largest = greedy_largest = _largest_redundancy(R, clique)
    floor = _largest_redundancy(R, np.flatnonzero(fixed))
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
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
    clique, proven = _exact(R, clique, fixed, allowed)
    largest = _largest_redundancy(R, clique)
    return CliqueThreshold(
        _just_above(largest, R), np.sort(clique), _just_above(greedy_largest, R), proven
    )


def greedy_threshold_clique(
    R: NDArray[np.float64], size: int, fixed: NDArray[np.bool_], allowed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Find a clique for a small threshold by min-degree greedy and bisection over the values of R.

    `fixed` and `allowed` are masks of the features that it must contain and may contain.
    """
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


class _OutOfWork(Exception):
    """The exact search has spent its budget."""


def _exact(
    R: NDArray[np.float64],
    clique: NDArray[np.int64],
    fixed: NDArray[np.bool_],
    allowed: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], bool]:
    """Improve a clique until none has a smaller largest redundancy, or the budget is spent.

    Returns
    -------
    tuple
        The clique, and whether there is provably none better.
    """
    from networkx import from_numpy_array
    from networkx.algorithms.clique import MaxWeightClique

    left = MOST_WORK
    missing = len(clique) - int(fixed.sum())
    floor = _largest_redundancy(R, np.flatnonzero(fixed))
    while (largest := _largest_redundancy(R, clique)) > floor:
        joined = _joined(R, np.nextafter(largest, -np.inf))
        members = _core(joined, allowed & ~fixed & joined[fixed].all(axis=0), missing - 1)
        if len(members) > EXACT_FEATURES:
            return clique, False
        search = MaxWeightClique(from_numpy_array(joined[np.ix_(members, members)]), None)
        search.incumbent_weight = missing - 1
        expand = search.expand

        def counted(chosen: list[int], size: int, others: list[int], go: Any = expand) -> None:
            nonlocal left
            left -= (len(others) + 10) ** 2  # also a small node takes some time
            if left < 0:
                raise _OutOfWork
            go(chosen, size, others)

        search.expand = counted
        try:
            search.find_max_weight_clique()
        except _OutOfWork:
            return clique, False
        if not search.incumbent_nodes:
            return clique, True
        others = members[search.incumbent_nodes[:missing]]
        clique = np.concatenate([np.flatnonzero(fixed), others])
    return clique, True


def _core(joined: NDArray[np.bool_], among: NDArray[np.bool_], degree: int) -> NDArray[np.int64]:
    """Return the features that are joined to at least so many others of them."""
    while True:
        inside = among & (joined[:, among].sum(axis=1) >= degree)
        if (inside == among).all():
            return np.flatnonzero(inside)
        among = inside


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
