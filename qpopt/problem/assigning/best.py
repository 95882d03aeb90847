"""The best assignment of a selection under demands, and a bound of all its assignments."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, inf
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.assigning.alike import alike_sets
from qpopt.problem.assigning.growing import grown_sets
from qpopt.problem.assigning.matched import matched_sets
from qpopt.problem.assigning.program import Program
from qpopt.problem.assigning.rows import add_violated
from qpopt.problem.assigning.sized import NEARLY, sized_sets
from qpopt.problem.demands.fulfilment import unmet

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance

Signs = NDArray[np.int8]

SAME = 1e-9
"""Values that differ by less, relative to what they add up from, count as equal."""

LEAST_SECONDS = 10.0
"""For how long a program is asked where there is no assignment yet."""

SOLVED = 1e-6
"""Within which the bound of a program is its value."""

MOST_CLASSES = 50
"""With more classes no program asks for a number of pairs: it has a variable for every pair."""


class Found(NamedTuple):
    """What is known of the assignments of a selection.

    Parameters
    ----------
    signs
        A feasible one, classes × selected features: 1, 0, or −1; None where none was found.
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
        return self.bound <= self.value + SAME * max(abs(self.value), 1e-9)


def best_found(
    instance: Instance,
    selection: NDArray[np.int64],
    *,
    above: float = -inf,
    seconds: float = 0.0,
    most_seconds: float = inf,
    over: Callable[[], bool] = lambda: False,
) -> Found:
    """Look for the best assignment of a selection that meets all demands.

    Parameters
    ----------
    instance, selection
        What is asked for; the features rise.
    above
        Only assignments worth more are of interest: others need not be the best.
    seconds
        For how long a program in whole numbers may be asked where nothing else is exact. It is
        asked in any case where it takes little, or nothing feasible was found otherwise.
    most_seconds
        Never for longer than this.
    over
        Whether time is over.
    """
    found = _but_for_alike(instance, selection, over)
    if found.signs is None and found.bound == -inf:
        return found
    if found.signs is not None:
        if not unmet(instance, selection, found.signs):
            return found
        found = _repaired(instance, selection, found.signs, found.bound)
    near = found.bound <= found.value + NEARLY * abs(found.value)
    if not (_compares(instance) or near):
        seconds = max(seconds, LEAST_SECONDS)
    settled = found.best or found.bound <= above
    if (found.signs is not None and (settled or not seconds)) or over():
        return found
    if instance.n_pairs and instance.n_classes > MOST_CLASSES:
        return found
    seconds = min(max(seconds, LEAST_SECONDS), most_seconds)
    return _whole(instance, selection, found, seconds, over)


def takes_long(instance: Instance) -> bool:
    """Tell whether a good assignment takes longer than sorting and matching."""
    return bool(instance.classes_per_feature or not instance.budgets.fixed or _compares(instance))


def _compares(instance: Instance) -> bool:
    """Tell whether classes must, or must not, be alike: then a program takes long."""
    return bool(instance.pairs or instance.n_pairs or instance.max_shared is not None)


def worth(instance: Instance, selection: NDArray[np.int64], signs: Signs) -> float:
    """Return the similarity of an assignment."""
    values = instance.A[:, selection]
    gains = values[signs > 0].tolist()
    return fsum([*gains, *(-instance.gamma * values[signs < 0]).tolist()])


def _but_for_alike(
    instance: Instance, selection: NDArray[np.int64], over: Callable[[], bool]
) -> Found:
    """Return the best assignment but for pairs and what classes may share.

    Where sizes differ, or features serve so many classes, equal sets are not forbidden either.
    """
    signs: Signs | None
    if instance.classes_per_feature is None and instance.budgets.fixed:
        signs = matched_sets(instance, selection, over)
    elif instance.classes_per_feature is None and instance.negative is None:
        signs = grown_sets(instance, selection)
    else:
        answer = Program(instance, selection, with_pairs=False).linear()
        if answer.signs is None:
            return Found(None, -inf, answer.bound)
        value = worth(instance, selection, answer.signs)
        return Found(answer.signs, value, max(answer.bound, value))
    if signs is None:
        return Found(None, -inf, inf if over() else -inf)
    value = worth(instance, selection, signs)
    return Found(signs, value, inf if over() else value)


def _repaired(
    instance: Instance, selection: NDArray[np.int64], signs: Signs, bound: float
) -> Found:
    """Return an assignment with sets of the same sizes that are as alike as they must be."""
    only_sizes = instance.classes_per_feature is None and instance.negative is None
    if only_sizes and not (_compares(instance) or instance.budgets.fixed):
        sized, least_bound = sized_sets(instance, selection)
        bound = min(bound, least_bound)
        if sized is not None and not unmet(instance, selection, sized):
            return Found(sized, worth(instance, selection, sized), bound)
    if instance.negative is None:
        sizes = np.count_nonzero(signs, axis=1)
        repaired = alike_sets(instance, selection, sizes)
        if repaired is not None and not unmet(instance, selection, repaired):
            return Found(repaired, worth(instance, selection, repaired), bound)
    return Found(None, -inf, bound)


def _whole(
    instance: Instance,
    selection: NDArray[np.int64],
    known: Found,
    seconds: float,
    over: Callable[[], bool],
) -> Found:
    """Solve the program in whole numbers, with rows against what its solutions break."""
    program = Program(instance, selection)
    end = monotonic() + seconds
    bound = known.bound
    while (left := end - monotonic()) > 0 and not over():
        answer = program.linear()
        if answer.signs is None and answer.bound > -inf:
            answer = program.whole(left)
        bound = min(bound, answer.bound)
        if answer.signs is None:
            break
        if not add_violated(program, answer.signs):
            value = worth(instance, selection, answer.signs)
            # A solver works within tolerances, and what it cannot tell apart is equal.
            if bound <= value + SOLVED * max(1.0, abs(value)):
                bound = value
            if value > known.value:
                known = known._replace(signs=answer.signs, value=value)
            break
    return known._replace(bound=max(bound, known.value))
