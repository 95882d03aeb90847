"""What an assignment breaks, and the rows that forbid it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.assigning.program import Program
from qpopt.problem.instance import Instance

Signs = NDArray[np.int8]


def breaks_nothing(instance: Instance, selection: NDArray[np.int64], signs: Signs) -> bool:
    """Tell whether an assignment of a selection meets all demands, and no two sets are equal."""
    used = signs != 0
    sizes, uses = used.sum(axis=1), used.sum(axis=0)
    budgets, (few, many) = instance.budgets, instance.uses
    right = bool((sizes >= budgets.least).all() and (sizes <= budgets.most).all())
    right = right and int(sizes.sum()) == budgets.total
    right = right and bool((uses >= few).all() and (uses <= many).all())
    right = right and not (used & instance.forbidden_cells[:, selection]).any()
    right = right and bool((signs[instance.required_cells[:, selection]] == 1).all())
    right = right and int((signs < 0).sum(axis=1).max()) <= instance.most_negative
    if not right or _equal_sets(signs):
        return False
    shared = _shared(signs)
    for c, other in instance.pairs:
        if shared[c, other] != sizes[c] - 1:
            return False
    if instance.n_pairs and len(_pairs_of(signs, shared)) < instance.n_pairs:
        return False
    return not _too_alike(instance, shared)


def add_violated(program: Program, signs: Signs) -> bool:
    """Add rows against equal sets and sets that share too much; tell whether there were any."""
    instance = program.instance
    varying = not instance.budgets.fixed or len(set(instance.budgets.most.tolist())) > 1
    groups = _equal_sets(signs)
    for group in groups:
        _forbid_equal(program, signs, group, varying=varying)
    too_alike = _too_alike(instance, _shared(signs))
    for c, other in too_alike:
        _forbid_sharing(program, signs, c, other)
    return bool(groups or too_alike)


def _equal_sets(signs: Signs) -> list[list[int]]:
    """Return the classes that have the same set, group by group."""
    groups: dict[bytes, list[int]] = {}
    for c, row in enumerate(np.ascontiguousarray(signs)):
        groups.setdefault(row.tobytes(), []).append(c)
    return [group for group in groups.values() if len(group) > 1]


def _shared(signs: Signs) -> NDArray[np.int64]:
    used = (signs != 0).astype(np.float64)
    shared: NDArray[np.int64] = np.rint(used @ used.T).astype(np.int64)
    return shared


def _pairs_of(signs: Signs, shared: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs of classes of the same size that share all features but one each."""
    sizes = np.count_nonzero(signs, axis=1)
    alike = (shared == sizes[:, None] - 1) & (sizes[:, None] == sizes)
    return np.argwhere(np.triu(alike, 1))


def _too_alike(instance: Instance, shared: NDArray[np.int64]) -> list[tuple[int, int]]:
    if instance.max_shared is None:
        return []
    above = np.triu(shared > instance.max_shared, 1)
    for c, other in instance.pairs:
        above[min(c, other), max(c, other)] = False
    return [(int(c), int(other)) for c, other in np.argwhere(above)]


def _forbid_equal(program: Program, signs: Signs, group: list[int], *, varying: bool) -> None:
    """Let at most one class of a group have the set that all of them have."""
    row = signs[group[0]]
    variables, factors = [], []
    for c in group:
        for j in range(len(row)):
            for sign in (1, -1):
                inside = row[j] == sign
                number = program.variable(c, j, sign)
                if number >= 0 and (inside or varying):
                    variables.append(number)
                    factors.append(1.0 if inside else -1.0)
    size = int(np.count_nonzero(row))
    program.add(variables, factors, len(group) * (size - 1) + 1.0)


def _forbid_sharing(program: Program, signs: Signs, c: int, other: int) -> None:
    """Let two classes not both have the same h + 1 features; see `max_shared`."""
    most = program.instance.max_shared or 0
    columns = np.flatnonzero((signs[c] != 0) & (signs[other] != 0))[: most + 1].tolist()
    variables = [v for j in columns for one in (c, other) for v in program.variables(one, j)]
    program.add(variables, np.ones(len(variables)).tolist(), 2.0 * most + 1.0)
