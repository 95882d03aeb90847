"""The best assignment of a selection as a small program, linear or in whole numbers.

Budgets, forbidden and required assignments, negatives and the classes of a feature are a flow: the
linear program has a best solution in whole numbers, and its multipliers say what each demand costs.
Pairs, and rows that forbid equal or too similar sets, need whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance


Vector = NDArray[np.float64]
Signs = NDArray[np.int8]

TIME_LIMIT_REACHED, INFEASIBLE = 1, 2
"""Statuses of scipy."""


class Answer(NamedTuple):
    """What a program says of the best assignment.

    Parameters
    ----------
    signs
        An assignment, 1, 0 and −1, or None where none was found.
    bound
        No assignment is worth more; −∞ where there is none.
    class_prices, size_price, sign_prices
        Of the linear program: what one feature more is worth to every class beside the size price,
        which is that of all classes together; what one negative more is worth to every class.
    """

    signs: Signs | None
    bound: float
    class_prices: Vector
    size_price: float
    sign_prices: Vector


class _Row(NamedTuple):
    """lower ≤ Σ factor · variable ≤ upper."""

    variables: Sequence[int]
    factors: Sequence[float] | Vector
    lower: float
    upper: float


class Program:
    """All assignments of a selection that meet the demands, but for rows that are added later.

    Parameters
    ----------
    instance, selection
        What is asked for. Equal sets, and sets that share too much, are not forbidden yet.
    with_pairs
        Whether pairs are heeded.
    among
        Which pairs count where there must be a number of them; None for all.
    """

    def __init__(
        self,
        instance: Instance,
        selection: NDArray[np.int64],
        *,
        with_pairs: bool = True,
        among: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.instance, self.selection = instance, selection
        values = instance.A[:, selection]
        required = instance.required_cells[:, selection]
        allowed = ~instance.forbidden_cells[:, selection]
        self.shape = values.shape
        self._cells = [np.argwhere(allowed)]
        self._gains = [values[allowed]]
        self._lower = [required[allowed].astype(np.float64)]
        if instance.most_negative:
            open_ = allowed & ~required
            self._cells.append(np.argwhere(open_))
            self._gains.append(-instance.gamma * values[open_])
            self._lower.append(np.zeros(int(open_.sum())))
        self._n_positive = len(self._cells[0])
        self._n_cells = sum(map(len, self._cells))
        self._numbers = np.full((2, *self.shape), -1)
        for sign, cells in enumerate(self._cells):
            first = sign * self._n_positive
            self._numbers[sign, cells[:, 0], cells[:, 1]] = first + np.arange(len(cells))
        self._rows: list[_Row] = []
        self._n_added = self._n_binary = 0
        self._class_rows = self._add_flow()
        if with_pairs:
            for c, other in instance.pairs:
                self._add_pair(c, other)
            self._add_number_of_pairs(among)

    def variables(self, c: int, j: int) -> list[int]:
        """Return the variables that assign column `j` to class `c`, of either sign."""
        return [int(v) for v in self._numbers[:, c, j] if v >= 0]

    def variable(self, c: int, j: int, sign: int) -> int:
        """Return the variable of an assignment with a sign, or −1 where it is not allowed."""
        return int(self._numbers[0 if sign > 0 else 1, c, j])

    def add(self, variables: Sequence[int], factors: Sequence[float], upper: float) -> None:
        """Add a row Σ factor · variable ≤ upper."""
        self._rows.append(_Row(variables, factors, -np.inf, upper))

    def linear(self) -> Answer:
        """Solve it without asking for whole numbers; None for a solution where it has fractions."""
        matrix, lower, upper = self._matrix()
        equal = lower == upper
        above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
        matrix = csr_array(matrix)
        n_above = int(above.sum())
        A_ub = csr_array(_stacked(matrix[above], -matrix[below]))
        found = linprog(
            -self._objective(),
            A_ub=A_ub if A_ub.shape[0] else None,
            b_ub=np.append(upper[above], -lower[below]) if A_ub.shape[0] else None,
            A_eq=matrix[equal] if equal.any() else None,
            b_eq=upper[equal] if equal.any() else None,
            bounds=np.column_stack(self._bounds()),
            method="highs-ds",
        )
        nothing = np.zeros(self.shape[0])
        if found.status == INFEASIBLE:
            return Answer(None, -np.inf, nothing, 0.0, nothing)
        if found.status != 0:
            return Answer(None, np.inf, nothing, 0.0, nothing)
        duals = np.zeros(len(lower))
        if equal.any():
            duals[equal] = -found.eqlin.marginals
        if A_ub.shape[0]:
            duals[above] -= found.ineqlin.marginals[:n_above]
            duals[below] += found.ineqlin.marginals[n_above:]
        size, classes, signs = self._class_rows
        return Answer(
            self._signs(found.x),
            -found.fun,
            duals[classes],
            float(duals[size].sum()),
            np.maximum(duals[signs], 0.0) if signs else nothing,
        )

    def whole(self, seconds: float) -> Answer:
        """Solve it in whole numbers, for some seconds at the most."""
        matrix, lower, upper = self._matrix()
        n = self._n_cells + self._n_added
        integral = np.zeros(n)
        integral[: self._n_cells] = 1.0
        integral[n - self._n_binary :] = 1.0
        found = milp(
            -self._objective(),
            integrality=integral,
            bounds=Bounds(*self._bounds()),
            constraints=LinearConstraint(matrix, lower, upper),
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0},
        )
        nothing = np.zeros(self.shape[0])
        if found.status == INFEASIBLE:
            return Answer(None, -np.inf, nothing, 0.0, nothing)
        known = found.mip_dual_bound
        bound = np.inf if known is None or not np.isfinite(known) else -float(known)
        signs = None if found.x is None else self._signs(found.x)
        return Answer(signs, bound, nothing, 0.0, nothing)

    def _add_flow(self) -> tuple[list[int], list[int], list[int]]:
        """Add the rows of the flow; return those of the total, of the classes and of negatives."""
        instance, (n_classes, n_columns) = self.instance, self.shape
        budgets, (few, many) = instance.budgets, instance.uses
        classes, total, signs = [], [], []
        for c in range(n_classes):
            variables = [v for v in self._numbers[:, c].ravel().tolist() if v >= 0]
            classes.append(len(self._rows))
            ends = float(budgets.least[c]), float(budgets.most[c])
            self._rows.append(_Row(variables, np.ones(len(variables)), *ends))
        if not budgets.fixed:
            total.append(len(self._rows))
            everything = np.ones(self._n_cells)
            self._rows.append(_Row(range(self._n_cells), everything, budgets.total, budgets.total))
        if instance.classes_per_feature is not None:
            for j in range(n_columns):
                variables = [v for v in self._numbers[:, :, j].ravel().tolist() if v >= 0]
                self._rows.append(_Row(variables, np.ones(len(variables)), few, many))
        if instance.most_negative:
            for c in range(n_classes):
                variables = [v for v in self._numbers[1, c].tolist() if v >= 0]
                signs.append(len(self._rows))
                ones = np.ones(len(variables))
                self._rows.append(_Row(variables, ones, 0.0, float(instance.most_negative)))
                for j in range(n_columns):
                    both = self.variables(c, j)
                    if len(both) == 2:
                        self._rows.append(_Row(both, (1.0, 1.0), 0.0, 1.0))
        return total, classes, signs

    def _add_pair(self, c: int, other: int, by: int | None = None) -> None:
        """Let two classes differ in one feature: always, or where the variable `by` is 1."""
        first = self._n_cells + self._n_added
        last = float(self.instance.budgets.most[c])
        for j in range(self.shape[1]):
            mine, theirs = self._numbers[0, c, j], self._numbers[0, other, j]
            self._n_added += 1
            variables, factors = [first + j], [-1.0]
            for number, factor in ((mine, 1.0), (theirs, -1.0)):
                if number >= 0:
                    variables.append(int(number))
                    factors.append(factor)
            self._rows.append(_Row(variables, factors, -np.inf, 0.0))
        differ = [*range(first, first + self.shape[1])]
        if by is None:
            self._rows.append(_Row(differ, np.ones(len(differ)), 0.0, 1.0))
        else:
            factors = [*np.ones(len(differ)), last - 1.0]
            self._rows.append(_Row([*differ, by], factors, 0.0, last))

    def _add_number_of_pairs(self, among: Sequence[tuple[int, int]] | None) -> None:
        if not self.instance.n_pairs:
            return
        every = [*combinations(range(self.shape[0]), 2)] if among is None else [*among]
        sizes = self.instance.budgets.most
        every = [pair for pair in every if sizes[pair[0]] == sizes[pair[1]]]
        # Variables in whole numbers come last.
        first = self._n_cells + self._n_added + len(every) * self.shape[1]
        for number, (c, other) in enumerate(every):
            self._add_pair(c, other, first + number)
        self._n_binary = len(every)
        self._n_added += len(every)
        chosen = [*range(first, first + len(every))]
        n_pairs = float(self.instance.n_pairs)
        self._rows.append(_Row(chosen, np.ones(len(every)), n_pairs, np.inf))

    def _objective(self) -> Vector:
        return np.concatenate([*self._gains, np.zeros(self._n_added)])

    def _bounds(self) -> tuple[Vector, Vector]:
        lower = np.concatenate([*self._lower, np.zeros(self._n_added)])
        return lower, np.ones(len(lower))

    def _matrix(self) -> tuple[csr_array, Vector, Vector]:
        counts = [len(row.variables) for row in self._rows]
        # Short indices: older SciPy hands long ones on to a solver that cannot take them.
        rows = np.repeat(np.arange(len(self._rows), dtype=np.int32), counts)
        columns = np.concatenate([np.asarray(row.variables, np.int32) for row in self._rows])
        factors = np.concatenate([np.asarray(row.factors, np.float64) for row in self._rows])
        shape = len(self._rows), self._n_cells + self._n_added
        matrix = csr_array(coo_array((factors, (rows, columns)), shape=shape))
        lower = np.array([row.lower for row in self._rows], np.float64)
        return matrix, lower, np.array([row.upper for row in self._rows], np.float64)

    def _signs(self, x: Vector) -> Signs | None:
        """Return the assignment of a solution, or None where it has fractions."""
        cells = x[: self._n_cells]
        if (np.abs(cells - np.rint(cells)) > 1e-6).any():
            return None
        signs = np.zeros(self.shape, np.int8)
        for sign, which in enumerate(self._cells):
            first = sign * self._n_positive
            taken = which[cells[first : first + len(which)] > 0.5]
            signs[taken[:, 0], taken[:, 1]] = 1 - 2 * sign
        return signs


def _stacked(above: csr_array, below: csr_array) -> coo_array:
    first, second = coo_array(above), coo_array(below)
    rows = np.append(first.row, second.row + first.shape[0])
    columns = np.append(first.col, second.col)
    shape = first.shape[0] + second.shape[0], first.shape[1]
    return coo_array((np.append(first.data, second.data), (rows, columns)), shape=shape)
