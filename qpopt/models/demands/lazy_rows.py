"""Rows that are added only where a solution breaks them: equal classes, and too much shared.

A class is a row of the table of w, or of w and v side by side. A set T of columns that two classes
c and c' have in full, and nothing else, is forbidden to them by

    Σ_{T} (x_c + x_c') − Σ_{not T} (x_c + x_c') ≤ 2|T| − 1,

where the second sum is left out between classes of one size. A set T of h + 1 features that both
have is forbidden by Σ_T (w_c + w_c') ≤ 2h + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from qpopt.models.compiled import CompiledModel, Rows
from qpopt.models.demands.sharing_rules import caps
from qpopt.models.duplicate_cuts import equal_classes
from qpopt.problem.instance import Instance

Term = tuple[int, Sequence[int], float]
"""A class, columns of its row, and their coefficient."""


class LazyRows:
    """Finds the rows that a solution of the compact model of an instance breaks.

    Parameters
    ----------
    instance, model
        The instance and its compact model.
    ahead
        Also forbid what two classes share to each of them together with all others.
    """

    def __init__(self, instance: Instance, model: CompiledModel, *, ahead: bool) -> None:
        self._model = model
        self._ahead = ahead
        self._names = [name for name in ("w", "v") if name in model.blocks]
        self._fixed = instance.budgets.fixed
        self._sizes = instance.budgets.least.tolist()
        self._caps = caps(instance) if instance.max_shared is not None else None

    def __call__(self, x: NDArray[np.float64]) -> Rows | None:
        """Return the broken rows, or None."""
        table = np.hstack([self._model.block(name, x) > 0.5 for name in self._names])
        found: dict[tuple[object, ...], tuple[list[Term], int]] = {}
        for terms, upper in [*self._unlike(table), *self._sharing(table)]:
            found.setdefault(tuple((c, *columns) for c, columns, _ in terms), (terms, upper))
        if not found:
            return None
        built = [self._row(terms, table.shape[1]) for terms, _ in found.values()]
        uppers = np.array([upper for _, upper in found.values()], dtype=np.float64)
        return Rows(sparse.vstack(built, format="csr"), np.full(len(built), -np.inf), uppers)

    def _unlike(self, table: NDArray[np.bool_]) -> Iterable[tuple[list[Term], int]]:
        for members in equal_classes(table):
            columns = np.flatnonzero(table[members[0]]).tolist()
            rest = [] if self._fixed else np.flatnonzero(~table[members[0]]).tolist()
            # Without the second sum a row holds for classes of one size only.
            size = self._sizes[members[0]]
            near = [c for c in range(len(table)) if rest or self._sizes[c] == size]
            for pair in self._companions(members, near):
                terms: list[Term] = [(c, columns, 1.0) for c in pair]
                terms += [(c, rest, -1.0) for c in pair if rest]
                yield terms, 2 * len(columns) - 1

    def _sharing(self, table: NDArray[np.bool_]) -> Iterable[tuple[list[Term], int]]:
        if self._caps is None:
            return
        members = table.astype(np.int64)
        over = np.argwhere(np.triu(members @ members.T > self._caps, 1))
        for c, other in over.tolist():
            cap = int(self._caps[c, other])
            common = np.flatnonzero(table[c] & table[other])[: cap + 1].tolist()
            near = [e for e in range(len(table)) if self._alike(c, e, cap)]
            for pair in self._companions([c, other], near):
                yield [(e, common, 1.0) for e in pair], 2 * cap + 1

    def _alike(self, c: int, other: int, cap: int) -> bool:
        """Whether no more than `cap` is shared with another class, so that the row holds for it."""
        assert self._caps is not None
        return c != other and bool(self._caps[c, other] <= cap)

    def _companions(self, members: list[int], others: Iterable[int]) -> list[tuple[int, int]]:
        pairs = list(combinations(members, 2))
        if self._ahead:
            pairs += [(members[0], c) for c in others if c not in members]
        return pairs

    def _row(self, terms: list[Term], n_columns: int) -> sparse.csr_array:
        row = sparse.lil_array((1, self._model.n_variables))
        width = n_columns // len(self._names)
        for c, columns, coefficient in terms:
            for column in columns:
                block = self._model.blocks[self._names[column // width]]
                row[0, block.start + c * width + column % width] += coefficient
        return sparse.csr_array(row)
