"""What counting says of demands on what two classes share."""

from __future__ import annotations

from itertools import combinations

from qpopt.errors import InfeasibleInstance
from qpopt.problem.demands.views import Demanding


def check_pairs(given: Demanding) -> None:
    """Raise where classes cannot share all features but one with so many others."""
    n_select = given.n_select
    sizes = given.budgets.least.tolist()
    if (given.pairs or given.n_pairs) and n_select <= (k := sizes[_first(given)]):
        raise InfeasibleInstance(
            f"Two classes with {k} features of which they share {k - 1} need {k + 1}; only "
            f"n_select = {n_select} are selected."
        )
    graph = _graph(given)
    for c, others in graph.items():
        k = sizes[c]
        if len(others) > k * (n_select - k):
            raise InfeasibleInstance(
                f"{given.class_label(c).capitalize()} is in {len(others)} pairs, but only "
                f"{k * (n_select - k)} sets differ from its own in one feature."
            )
    for members in _cliques(given, graph):
        k = sizes[members[0]]
        if len(members) > (most := max(k + 1, n_select - k + 1)):
            raise InfeasibleInstance(
                f"The {len(members)} classes {', '.join(map(str, members))} are pairs of each "
                f"other; at most {most} sets of {k} out of {n_select} features can be."
            )
    required, forbidden = given.required_cells, given.forbidden_cells
    for c, other in given.pairs:
        k = sizes[c]
        needed = int((required[c] | required[other]).sum())
        if needed > k + 1:
            raise InfeasibleInstance(
                f"Classes {c} and {other} are a pair and have {k + 1} features together, but "
                f"{needed} are required of them."
            )
        for one, two in ((c, other), (other, c)):
            torn = int((required[one] & forbidden[two]).sum())
            if torn > 1:
                raise InfeasibleInstance(
                    f"{torn} features are required of class {one} and forbidden to class {two}; "
                    "as a pair they differ in 1."
                )


def check_max_shared(given: Demanding) -> None:
    """Raise where so many sets cannot share so little."""
    h = given.max_shared
    if h is None:
        return
    graph, sizes = _graph(given), given.budgets.least.tolist()
    for start in graph:
        for other, steps in _near(graph, start, sizes[start] - h - 1).items():
            if steps > 1 and other not in graph[start]:
                shared = sizes[start] - steps
                raise InfeasibleInstance(
                    f"Classes {start} and {other} are {steps} pairs apart and share at least "
                    f"{shared} features; max_shared is {h}."
                )
    apart: list[int] = []
    for c in range(len(given.A)):
        if sizes[c] > h and not graph.get(c, frozenset()) & set(apart):
            apart.append(c)
    if not apart:
        return
    size = min(sizes[c] for c in apart)
    most = 1
    for i in range(h, -1, -1):
        most = (given.n_select - i) * most // (size - i)
    if len(apart) > most:
        raise InfeasibleInstance(
            f"At most {most} sets of {size} out of {given.n_select} features share no more than "
            f"max_shared = {h}; {len(apart)} classes need one."
        )


def _first(given: Demanding) -> int:
    return given.pairs[0][0] if given.pairs else 0


def _graph(given: Demanding) -> dict[int, set[int]]:
    """Return for every class that is in a pair the classes that it is in one with."""
    graph: dict[int, set[int]] = {}
    for c, other in given.pairs:
        graph.setdefault(c, set()).add(other)
        graph.setdefault(other, set()).add(c)
    return graph


def _cliques(given: Demanding, graph: dict[int, set[int]]) -> list[list[int]]:
    """Return a maximal clique around every pair of three classes, grown greedily."""
    found = []
    for c, other in given.pairs:
        members = [c, other]
        around = graph[c] & graph[other]
        while around:
            nearest = max(sorted(around), key=lambda new: len(graph[new] & around))
            members.append(nearest)
            around &= graph[nearest]
        assert all(two in graph[one] for one, two in combinations(members, 2))
        found.append(sorted(members))
    return found


def _near(graph: dict[int, set[int]], start: int, most: int) -> dict[int, int]:
    """Return how many pairs away from a class others are, up to `most`."""
    steps, edge = {start: 0}, [start]
    for step in range(1, most + 1):
        edge = sorted({new for c in edge for new in graph[c] if new not in steps})
        steps |= dict.fromkeys(edge, step)
    return steps
