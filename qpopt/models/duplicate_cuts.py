"""Equal classes, and the cuts that forbid them.

A set T of features that the classes c and c' both have is forbidden to them by
Σ_{d∈T} (w_cd + w_c'd) ≤ 2·n_per_class − 1, which is exact for whole w.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from qpopt.models.compiled import Block, Rows


def duplicate_cuts(
    assignment: NDArray[np.bool_],
    n_per_class: int,
    w: Block,
    n_variables: int,
    *,
    ahead: bool = False,
) -> Rows | None:
    """Return the cuts that forbid every set which two or more classes share, or None.

    For every pair of classes that share a set it is the exact cut of this module. For more than
    two classes G at once, Σ_{c∈G} Σ_{d∈T} w_cd ≤ |G|·(n_per_class − 1) + 1 comes on top: it follows
    from whole w but not from the pairs.

    Parameters
    ----------
    assignment
        Boolean classes × features.
    n_per_class
        The number of features that every class has.
    w
        Where w lies among the variables.
    n_variables
        The number of variables of the model.
    ahead
        Also forbid a shared set to each class that has it together with each that does not. It
        saves rounds in which the set is handed from pair to pair, for many more cuts.
    """
    n_classes, n_features = assignment.shape
    columns: list[NDArray[np.int64]] = []
    upper: list[int] = []
    for members in equal_classes(assignment):
        features = np.flatnonzero(assignment[members[0]])
        groups: list[tuple[int, ...]] = [*combinations(members, 2)]
        if len(members) > 2:
            groups.append(tuple(members))
        if ahead:
            others = sorted(set(range(n_classes)) - set(members))
            groups += product(members, others)
        for group in groups:
            columns.append(np.concatenate([w.start + c * n_features + features for c in group]))
            upper.append(len(group) * (n_per_class - 1) + 1)
    if not columns:
        return None
    ends = np.cumsum([0, *(len(row) for row in columns)])
    matrix = sparse.csr_array(
        (np.ones(ends[-1]), np.concatenate(columns), ends), shape=(len(columns), n_variables)
    )
    return Rows(matrix, np.full(len(columns), -np.inf), np.array(upper, dtype=np.float64))


def equal_classes(assignment: NDArray[np.bool_]) -> list[list[int]]:
    """Return the groups of two or more classes that have the same features."""
    holders: dict[bytes, list[int]] = {}
    for c, row in enumerate(assignment):
        holders.setdefault(row.tobytes(), []).append(c)
    return [classes for classes in holders.values() if len(classes) > 1]
