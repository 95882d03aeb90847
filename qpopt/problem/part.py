"""Part: some of the selections, with a bound."""

from __future__ import annotations

from typing import NamedTuple

from qpopt.problem.subproblem import Indices


class Part(NamedTuple):
    """The selections that contain `included` and otherwise only features of `free`.

    Parameters
    ----------
    free, included
        The features that are undecided, and those that are selected.
    bound
        No selection of this part has a larger Z.
    """

    free: Indices
    included: Indices
    bound: float
