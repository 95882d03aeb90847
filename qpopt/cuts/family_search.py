"""FamilySearch: the family cuts that say most where features are selected by certain weights.

What distinct sets of a family gain at a fractional selection is a linear program with a column for
every choice of sets; its multipliers are prices and thresholds of a cut. Columns come one by one,
each the best choice at prices between the best known ones and those of the last program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from qpopt.cuts.families import LARGEST_CORE, Family, family_of
from qpopt.problem.subproblem import Indices, Subproblem

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class FamilyParams:
    """How family cuts are looked for.

    Parameters
    ----------
    core
        The most features of a core.
    rounds
        The most columns made at once.
    accuracy
        How closely the best cut is found, relative to what it gives.
    ahead
        How far to go from the best multipliers towards those of the last program.
    further
        Features outside the core have a say as long as a class comes to them when it takes so many
        more than k.
    most_parts, most_columns
        The most parts of a look at everything, and columns that are kept.
    """

    core: int = 14
    rounds: int = 40
    accuracy: float = 1e-4
    ahead: float = 0.4
    further: float = 1.5
    most_parts: int = 100_000
    most_columns: int = 80


class _Column(NamedTuple):
    """A choice of sets: what they gain, how many each class is short of k, what is used."""

    gain: float
    missing: Vector
    used: Vector


@dataclass
class _Known:
    """What is known of a family: its core, and choices of sets of it."""

    core: Indices
    columns: list[_Column] = field(default_factory=list)


class FamilySearch:
    """Looks for family cuts; what it has found of a family, it knows also in other subproblems.

    Parameters
    ----------
    params
        How to look.
    """

    def __init__(self, params: FamilyParams = FamilyParams()) -> None:
        self._params = params
        self._known: dict[tuple[int, ...], _Known] = {}

    def best(
        self, A: Vector, sub: Subproblem, classes: tuple[int, ...], weight: Vector, beat: float
    ) -> tuple[Vector, Family] | None:
        """Return thresholds and the family of the best cut; None where it does not beat a value.

        Parameters
        ----------
        A, sub
            The columns of a subproblem, and that.
        classes
            The family.
        weight
            How much every column is selected.
        beat
            What another cut gives at these weights.
        """
        params, k = self._params, sub.n_per_class
        features = np.concatenate([sub.free, sub.included])
        rows = A[list(classes)]
        taken, near = _wishes(rows, weight, k, params.further)
        known = self._known.get(classes)
        if known is None or np.isin(known.core, features).sum() < k + 1:
            order = np.argsort(-taken.sum(axis=0), kind="stable")
            core = order[: min(params.core, LARGEST_CORE)]
            core = core[near[:, core].any(axis=0)]
            known = self._known[classes] = _Known(np.sort(features[core]))
        inside = np.isin(features, known.core)
        if inside.sum() <= k:
            return None
        place = np.flatnonzero(inside)
        place = place[np.argsort(features[place])]
        # Of the core, what is no longer there stays in the columns without being selected.
        there = np.isin(known.core, features[place])
        program = _Program(rows, weight, place, near & ~inside, k, known, there)
        thresholds, prices = program.start(taken)
        if known.columns:
            _, thresholds, prices = program.solve()
        best, found = inf, None
        for _ in range(params.rounds):
            family, used, sets = family_of(
                rows[:, place], features[place], prices, thresholds, k, params.most_parts
            )
            value = family.most + program.paid(thresholds, prices)
            if value < best:
                best, found = value, (thresholds, family)
            program.add(used, sets)
            lower, thresholds, prices = program.solve()
            target = min(best, beat)
            if target - lower <= params.accuracy * abs(target) or found is None:
                break
            center, kept = found[0], found[1].prices
            thresholds = center + params.ahead * (thresholds - center)
            prices = kept + params.ahead * (prices - kept)
        del known.columns[: -params.most_columns]
        return found if best < beat else None


class _Program:
    """The linear program of a family: min κ + what prices and thresholds cost at the weights.

    Its variables are κ, the thresholds, the prices of the core, and for other features near enough
    what every class gains by them above its threshold.
    """

    def __init__(
        self,
        rows: Vector,
        weight: Vector,
        place: Indices,
        others: NDArray[np.bool_],
        k: int,
        known: _Known,
        there: NDArray[np.bool_],
    ) -> None:
        q, p = len(rows), len(known.core)
        self._rows, self._weight, self._place, self._k = rows, weight, place, k
        self._known, self._there = known, there
        self._others = others
        c, d = np.nonzero(others)
        n = len(c)
        self._n_fixed = 1 + q + p
        number = np.arange(n)
        self._above = csr_array(
            (
                np.full(2 * n, -1.0),
                (np.tile(number, 2), np.concatenate([1 + c, self._n_fixed + number])),
            ),
            shape=(n, self._n_fixed + n),
        )
        self._least = -rows[c, d]
        core_weight = np.zeros(p)
        core_weight[there] = weight[place]
        self._cost = np.concatenate([[1.0], np.zeros(q), core_weight, weight[d]])
        # κ is v and Σ kτ together.
        low = np.concatenate([[-inf], rows.min(axis=1), np.zeros(p + n)])
        high = np.concatenate([[inf], rows.max(axis=1), np.full(p + n, inf)])
        high[1 + q : 1 + q + p] = q * float(rows.max() - rows.min()) + 1e-9
        self._bounds = np.column_stack([low, high])

    def start(self, taken: Vector) -> tuple[Vector, Vector]:
        """Return the thresholds of the single classes, and prices that go with them."""
        rows = self._rows
        thresholds = np.where(taken > 0.0, rows, inf).min(axis=1)
        thresholds = np.where(np.isfinite(thresholds), thresholds, rows.max(axis=1))
        prices = np.maximum(rows[:, self._place] - thresholds[:, None], 0.0).sum(axis=0)
        return thresholds, prices

    def paid(self, thresholds: Vector, prices: Vector) -> float:
        """Return what a cut gives at the weights, but for `most`."""
        above = np.maximum(self._rows - thresholds[:, None], 0.0)
        above[:, self._place] = 0.0
        inside = float(prices @ self._weight[self._place])
        return self._k * float(thresholds.sum()) + inside + float(above.sum(axis=0) @ self._weight)

    def add(self, used: int, sets: Indices) -> None:
        """Add a choice of sets, given as bits of the places of the core."""
        bits = np.arange(len(self._place))
        member = (sets[:, None] >> bits & 1).astype(bool)
        gain = float(self._rows[:, self._place][member].sum())
        whole = np.zeros(len(self._known.core))
        whole[self._there] = used >> bits & 1
        missing = self._k - member.sum(axis=1).astype(np.float64)
        self._known.columns.append(_Column(gain, missing, whole))

    def solve(self) -> tuple[float, Vector, Vector]:
        """Return the value of the program, and its thresholds and prices."""
        q, p = len(self._rows), len(self._known.core)
        columns = self._known.columns
        chosen = np.zeros((len(columns) + 1, len(self._cost)))
        chosen[:, 0] = -1.0
        for row, column in zip(chosen, columns, strict=False):
            row[1 : 1 + q] = column.missing
            row[1 + q : 1 + q + p] = -column.used
        chosen[-1, 1 : 1 + q] = self._k
        gains = [-column.gain for column in columns]
        result = linprog(
            self._cost,
            A_ub=vstack([self._above, csr_array(chosen)]).tocsr(),
            b_ub=np.concatenate([self._least, gains, [0.0]]),
            bounds=self._bounds,
            method="highs",
        )
        if result.status != 0:
            return inf, np.zeros(q), np.zeros(len(self._place))
        prices = result.x[1 + q : 1 + q + p][self._there]
        return float(result.fun), result.x[1 : 1 + q], np.maximum(prices, 0.0)


def _wishes(
    rows: Vector, weight: Vector, k: int, further: float
) -> tuple[Vector, NDArray[np.bool_]]:
    """Return how much of every column the classes take, and which they come to a little later."""
    order = np.argsort(-rows, axis=1, kind="stable")
    ordered = weight[order]
    before = np.cumsum(ordered, axis=1) - ordered
    taken, near = np.zeros_like(rows), np.zeros(rows.shape, dtype=bool)
    np.put_along_axis(taken, order, np.clip(k - before, 0.0, ordered), axis=1)
    np.put_along_axis(near, order, (before < k + further) & (ordered > 1e-7), axis=1)
    return taken, near
