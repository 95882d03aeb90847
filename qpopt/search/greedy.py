"""greedy: one feature after the other, always the one that adds most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.greedy_fill import fill
from qpopt.problem.instance import Instance
from qpopt.search.integer_instance import IntegerInstance, in_units


def greedy(instance: Instance) -> NDArray[np.int64]:
    """Select features by their marginal gain, beginning with those that must be included.

    Redundancy and bias count in full; uniqueness does not.

    Parameters
    ----------
    instance
        What to solve.

    Returns
    -------
    NDArray
        The selection, rising.
    """
    problem, _ = in_units(instance)
    return greedy_selection(instance, problem)


def greedy_selection(instance: Instance, problem: IntegerInstance) -> NDArray[np.int64]:
    """Do the same with a problem that is at hand."""
    selected = np.zeros(instance.n_select, np.int64)
    selected[: len(instance.include)] = instance.include
    fill(problem, selected, len(instance.include), problem.allowed, 1, np.ones(1, np.uint64))
    return np.sort(selected)
