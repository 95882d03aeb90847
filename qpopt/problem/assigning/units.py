"""The best sets of a unit, of classes that pairs join, as a small program in whole numbers.

Exchanging features one by one cannot leave a bad start where many classes hang together: each
class is held by those that it is a pair with. All of them at once are a program with one variable
for every class and feature, and one for every pair and feature that both have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

if TYPE_CHECKING:
    from qpopt.problem.assigning.alike import Rules

Mask = NDArray[np.bool_]
Vector = NDArray[np.float64]

MOST_VARIABLES = 20_000
"""Larger programs take too long."""

MOST_SECONDS, MOST_NODES = 2.0, 300
"""For a program; one that takes longer gives what it has."""

ACCURACY = 3e-3
"""How closely a program is solved; exchanges of features do the rest."""

MOST_ROUNDS = 12
"""How often equal sets are forbidden; some that are left are repaired as quickly otherwise."""


def best_of_unit(
    rules: Rules,
    classes: NDArray[np.int64],
    size: int,
    over: Callable[[], bool] = lambda: False,
) -> Mask | None:
    """Return nearly the best sets, classes × columns, of a unit whose pairs share all but one.

    Other classes, and how much classes that are no pair may share, are left out of account; a few
    sets may be equal. None where there are no such sets, or where it takes too long.

    Parameters
    ----------
    rules
        What holds for the sets.
    classes
        The classes of the unit.
    size
        How many features each of them gets.
    over
        Asked before every program; when it says so, what there is is returned.
    """
    q, m = len(classes), rules.values.shape[1]
    first, second = np.nonzero(np.triu(rules.pair[np.ix_(classes, classes)]))
    n_cells, n_shared = q * m, len(first) * m
    if n_cells + n_shared > MOST_VARIABLES:
        return None
    cell = np.arange(n_cells).reshape(q, m)
    shared = n_cells + np.arange(n_shared).reshape(len(first), m)
    # What a pair shares, both of its classes have.
    above = np.concatenate([shared.ravel(), shared.ravel()])
    below = np.concatenate([cell[first].ravel(), cell[second].ravel()])
    n = n_cells + n_shared
    rows = [
        LinearConstraint(_sums(cell, n), size, size),
        LinearConstraint(_sums(shared, n), size - 1, np.inf),
        LinearConstraint(_differences(above, below, n), -np.inf, 0.0),
    ]
    upper = np.append(rules.allowed[classes].ravel(), np.ones(n_shared)).astype(np.float64)
    lower = np.append(rules.required[classes].ravel(), np.zeros(n_shared)).astype(np.float64)
    member: Mask | None = None
    for _ in range(MOST_ROUNDS):
        if over():
            break
        answer = milp(
            np.append(-rules.values[classes].ravel(), np.zeros(n_shared)),
            constraints=rows,
            bounds=Bounds(lower, np.maximum(upper, lower)),
            integrality=np.append(np.ones(n_cells), np.zeros(n_shared)),
            options={"time_limit": MOST_SECONDS, "node_limit": MOST_NODES, "mip_rel_gap": ACCURACY},
        )
        if answer.x is None:
            break
        member = answer.x[:n_cells].reshape(q, m) > 0.5
        equal = _equal(member)
        if not equal or answer.status != 0:
            break
        # At most one class of a group has the set that all of them have now.
        for group in equal:
            columns = np.flatnonzero(member[group[0]])
            cells = cell[group][:, columns].reshape(1, -1)
            rows.append(LinearConstraint(_sums(cells, n), -np.inf, len(group) * (size - 1) + 1.0))
    return member


def _sums(variables: NDArray[np.int64], n: int) -> coo_array:
    """Return the matrix that adds up every row of variables, of n in all."""
    number = np.repeat(np.arange(len(variables)), variables.shape[1])
    return _matrix(np.ones(variables.size), number, variables.ravel(), (len(variables), n))


def _differences(first: NDArray[np.int64], second: NDArray[np.int64], n: int) -> coo_array:
    """Return the matrix of the differences of variables, of n in all."""
    number = np.tile(np.arange(len(first)), 2)
    factors = np.repeat([1.0, -1.0], len(first))
    return _matrix(factors, number, np.concatenate([first, second]), (len(first), n))


def _matrix(
    factors: Vector, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> coo_array:
    # Short indices: older SciPy hands long ones on to a solver that cannot take them.
    return coo_array((factors, (rows.astype(np.int32), columns.astype(np.int32))), shape=shape)


def _equal(member: Mask) -> list[NDArray[np.int64]]:
    """Return the rows that are the same, group by group."""
    _, number, count = np.unique(member, axis=0, return_inverse=True, return_counts=True)
    return [np.flatnonzero(number == one) for one in np.flatnonzero(count > 1)]
