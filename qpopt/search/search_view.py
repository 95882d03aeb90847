"""SearchView: the plain instance that the swap search sees, in whole numbers.

A plain instance is its own view. One with demands is searched by the plain instance that bounds it:
prices, forbidden and required cells and sizes are in its numbers, and every selection that is worth
it gets a real assignment. Classes that are to be alike are made alike, which is no bound, but tells
what a selection is worth to both of them.
"""

from __future__ import annotations

from math import comb
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from qpopt.control.incumbent import Incumbent
from qpopt.problem.assigning.best import takes_long
from qpopt.problem.assigning.multipliers import has_multipliers, multipliers_at
from qpopt.problem.assigning.relaxed import no_multipliers, relaxed_parts
from qpopt.problem.instance import Instance
from qpopt.search.greedy import greedy
from qpopt.search.integer_instance import IntegerInstance, PlainNumbers, in_units

Selection = NDArray[np.int64]

ALIKE = 0.75
"""How far the rows of classes that are a pair move towards each other: 1 makes them equal."""

FURTHER = 4.0
"""By how much forbidden cells become worse where no selection found so far does without them."""

FARTHEST = 256.0
"""How far below all others they are at the most: beyond that whole numbers are too coarse."""


class SearchView:
    """What a worker searches in.

    Parameters
    ----------
    incumbent
        Tells for which selection multipliers are wanted.

    Attributes
    ----------
    current
        The plain instance in whole units, and the size of a unit.
    n_select
        How many columns it selects, those that stand for demands among them.
    slow_to_judge
        Whether what a selection is worth takes long to find out.
    """

    def __init__(self, incumbent: Incumbent) -> None:
        self._incumbent = incumbent
        self._distance = 1.0
        self._seen: Selection | None = None
        instance = incumbent.instance
        self._plain: Instance | PlainNumbers = instance
        if instance.demands:
            self._plain = self._made(None)
        self.current: tuple[IntegerInstance, float] = in_units(self._plain)
        self._lock = Lock()
        self.n_select = self._plain.n_select
        self.slow_to_judge = bool(instance.demands) and takes_long(instance)

    def greedy(self) -> Selection:
        """Return a first selection."""
        return greedy(self._plain, self.current[0])

    def columns(self, selection: Selection) -> Selection:
        """Return a selection of the instance with the columns that are always selected."""
        added = np.arange(self._incumbent.instance.n_features, self._plain.n_features)
        return np.concatenate([selection, added])

    def renew(self) -> None:
        """Take the multipliers of the incumbent; without one, move forbidden cells further away."""
        if not self._incumbent.instance.demands:
            return
        with self._lock:
            instance, best = self._incumbent.instance, self._incumbent.best
            if best is None:
                if not instance.forbidden or self._distance >= FARTHEST:
                    return
                self._distance *= FURTHER
            elif not has_multipliers(instance) or best.selection is self._seen:
                return
            self._seen = None if best is None else best.selection
            self._plain = self._made(self._seen)
            problem, unit = in_units(self._plain)
            # The workers have made room for so many.
            self.current = problem._replace(n_listed=self.current[0].n_listed), unit

    def _made(self, selection: Selection | None) -> PlainNumbers:
        instance = self._incumbent.instance
        by = no_multipliers(instance)
        if selection is not None:
            by = multipliers_at(instance, selection)
        parts = relaxed_parts(
            instance, by, A=_alike(instance), distance=self._distance, apart=_crowded(instance)
        )
        n, more = instance.n_features, parts.columns.shape[1]
        added = range(n, n + more)
        return PlainNumbers(
            np.hstack([parts.A, parts.columns]),
            np.pad(instance.R, (0, more)) if more else instance.R,
            np.append(parts.b, np.zeros(more)),
            instance.n_select + more,
            parts.n_per_class,
            (*instance.included, *added),
            instance.excluded,
        )


def _crowded(instance: Instance) -> bool:
    """Tell whether classes must have the same features with other signs."""
    size = int(instance.budgets.most.max())
    return instance.negative is not None and comb(instance.n_select, size) < instance.n_classes


def _alike(instance: Instance) -> NDArray[np.float64]:
    """Return A with rows of classes moved towards the mean of theirs and their partners'."""
    total, count = instance.A.copy(), np.ones(instance.n_classes)
    for c, other in instance.pairs:
        total[c] += instance.A[other]
        total[other] += instance.A[c]
        count[[c, other]] += 1.0
    mean = total / count[:, None]
    return np.where(count[:, None] > 1.0, (1.0 - ALIKE) * instance.A + ALIKE * mean, instance.A)
