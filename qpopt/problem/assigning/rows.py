"""Rows against equal sets, and against sets that share too much, added where they are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.assigning.program import Program

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance

Signs = NDArray[np.int8]


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
