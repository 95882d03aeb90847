"""The best assignment of a selection but for rules that compare classes: a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidInstance
from qpopt.problem import validation
from qpopt.problem.assigning.growing import grown_sets
from qpopt.problem.assigning.program import Program

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance


def flow_sets(instance: Instance, selection: NDArray[np.int64]) -> NDArray[np.int8] | None:
    """Return the best assignment that ignores uniqueness, `pairs` and `max_shared`, or None."""
    if instance.classes_per_feature is None and instance.negative is None:
        return grown_sets(instance, selection)
    return Program(instance, selection, with_pairs=False).linear().signs


def flow_assignment(instance: Instance, selection: NDArray[np.int64]) -> validation.Assigned:
    """Return the same in the form of an assignment.

    Raises
    ------
    InvalidInstance
        If there is none.
    """
    signs = flow_sets(instance, selection)
    if signs is None:
        raise InvalidInstance(
            f"{len(selection)} selected features give no assignment that meets the demands; select "
            "others or pass an assignment."
        )
    return validation.signs("assignment", signs)
