"""greedy: one feature after the other, always the one that adds most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.greedy_fill import fill
from qpopt.problem.instance import Instance
from qpopt.search.integer_instance import IntegerInstance, PlainNumbers


def greedy(instance: Instance | PlainNumbers, problem: IntegerInstance) -> NDArray[np.int64]:
    """Select features by their marginal gain, beginning with those that must be included.

    Redundancy and bias count in full, uniqueness does not. `problem` is the instance in units.
    """
    selected = np.zeros(instance.n_select, np.int64)
    selected[: len(instance.included)] = instance.included
    fill(problem, selected, len(instance.included), problem.allowed, 1, np.ones(1, np.uint64))
    return np.sort(selected)
