"""What a selection is worth under demands."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from qpopt.control.limits import Clock
from qpopt.problem import validation
from qpopt.problem.assigning.best import best_found
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Candidate


def best_of_selection(
    instance: Instance,
    selection: NDArray[np.int64],
    objective: float,
    seconds: float,
    clock: Clock,
) -> tuple[Candidate | None, float]:
    """Return a good solution with a selection, and what those that are not found may be worth.

    Parameters
    ----------
    instance, selection
        The instance, and rising features.
    objective
        The Z that only better solutions exceed.
    seconds
        As for `best_found`.
    clock
        Says how much time is left at the most.

    Returns
    -------
    tuple
        The solution, None where none was found; and a bound on the Z of all others, −∞ where the
        solution is the best one, or there is none.
    """
    nothing = np.zeros((instance.n_classes, len(selection)), dtype=bool)
    rest = instance.objective(selection, nothing).total
    found = best_found(
        instance,
        selection,
        above=objective - rest,
        seconds=seconds,
        most_seconds=inf if clock.remaining is None else clock.remaining,
        over=lambda: clock.over,
    )
    bound = -inf if found.best else found.bound + rest
    if found.signs is None:
        return None, bound
    return Candidate(selection, validation.signs("An assignment", found.signs)), bound
