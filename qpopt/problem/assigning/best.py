"""The best assignment of a selection under demands, and a bound of all its assignments."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, inf
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.assigning.alike import alike_sets
from qpopt.problem.assigning.matched import matched_sets
from qpopt.problem.assigning.program import Program
from qpopt.problem.assigning.rows import add_violated, breaks_nothing
from qpopt.problem.instance import Instance

Signs = NDArray[np.int8]

SAME = 1e-9
"""Values that differ by less, relative to what they add up from, count as equal."""


class Assigned(NamedTuple):
    """What is known of the assignments of a selection.

    Parameters
    ----------
    signs
        A feasible one, classes × selected features, or None where none was found.
    value, bound
        What it is worth, −∞ without one; what none exceeds, −∞ where there is none.
    """

    signs: Signs | None
    value: float
    bound: float

    @property
    def best(self) -> bool:
        """Whether no assignment is better, within rounding."""
        if self.signs is None:
            return self.bound == -inf
        size = max(abs(self.value), 1e-9)
        return self.bound <= self.value + SAME * size


def assigned(
    instance: Instance,
    selection: NDArray[np.int64],
    *,
    above: float = -inf,
    seconds: float = 0.0,
    over: Callable[[], bool] = lambda: False,
) -> Assigned:
    """Look for the best assignment of a selection that meets all demands.

    Parameters
    ----------
    instance, selection
        What is asked for; the features rise.
    above
        Only assignments worth more are of interest: others need not be the best.
    seconds
        For how long a program in whole numbers may be asked where nothing else is exact; where
        nothing feasible was found otherwise it is asked in any case.
    over
        Whether time is over.
    """
    first = _without_alike(instance, selection, over)
    if first.signs is None or _fits(instance, first.signs, selection):
        if first.signs is None and first.bound > -inf:
            return _whole(instance, selection, first, max(seconds, LEAST_SECONDS), over)
        return first
    found = Assigned(None, -inf, first.bound)
    if instance.most_negative == 0 and not instance.n_pairs:
        sizes = np.count_nonzero(first.signs, axis=1)
        signs = alike_sets(instance, selection, sizes)
        if signs is not None and breaks_nothing(instance, selection, signs):
            found = found._replace(signs=signs, value=_worth(instance, selection, signs))
    hopeless = found.signs is not None and found.bound <= above
    if found.best or hopeless or (found.signs is not None and not seconds) or over():
        return found
    return _whole(instance, selection, found, max(seconds, LEAST_SECONDS), over)


LEAST_SECONDS = 2.0
"""For how long a program is asked where there is no assignment yet."""


def _fits(instance: Instance, signs: Signs, selection: NDArray[np.int64]) -> bool:
    return breaks_nothing(instance, selection, signs)


def _worth(instance: Instance, selection: NDArray[np.int64], signs: Signs) -> float:
    values = instance.A[:, selection]
    gains = [*values[signs > 0].tolist()]
    gains += [-instance.gamma * value for value in values[signs < 0].tolist()]
    return fsum(gains)


def _without_alike(
    instance: Instance, selection: NDArray[np.int64], over: Callable[[], bool]
) -> Assigned:
    """Return the best assignment but for pairs and what classes may share."""
    if instance.budgets.fixed and instance.classes_per_feature is None:
        signs = matched_sets(instance, selection, over)
        if signs is None:
            return Assigned(None, -inf, -inf)
        value = _worth(instance, selection, signs)
        return Assigned(signs, value, value)
    answer = Program(instance, selection, with_pairs=False).linear()
    if answer.signs is None:
        return Assigned(None, -inf, answer.bound)
    value = _worth(instance, selection, answer.signs)
    return Assigned(answer.signs, value, max(answer.bound, value))


def _whole(
    instance: Instance,
    selection: NDArray[np.int64],
    known: Assigned,
    seconds: float,
    over: Callable[[], bool],
) -> Assigned:
    """Solve the program in whole numbers, with rows against what its solutions break."""
    program = Program(instance, selection)
    end = monotonic() + seconds
    bound = known.bound
    while (left := end - monotonic()) > 0 and not over():
        answer = program.whole(left)
        bound = min(bound, answer.bound)
        if answer.signs is None:
            break
        if not add_violated(program, answer.signs):
            value = _worth(instance, selection, answer.signs)
            if value > known.value:
                known = known._replace(signs=answer.signs, value=value)
            if program_is_solved(value, answer.bound):
                bound = min(bound, max(value, known.value))
            break
    if bound < known.value:
        bound = known.value
    return known._replace(bound=bound)


def program_is_solved(value: float, bound: float) -> bool:
    """Tell whether a program's bound is its value within what solvers take for equal."""
    return bound <= value + 1e-6 * max(1.0, abs(value))
