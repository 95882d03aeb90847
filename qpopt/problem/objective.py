"""The objective Z and its three parts. Nothing else in qpopt computes Z."""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Objective(NamedTuple):
    """The value of Z and of its parts: ``total = similarity - redundancy + bias``."""

    total: float
    similarity: float
    redundancy: float
    bias: float


def best_assignment(
    A: NDArray[np.float64], selection: NDArray[np.int64], n_per_class: int
) -> NDArray[np.bool_]:
    """Give every class its best selected features, ignoring uniqueness.

    Parameters
    ----------
    A
        Similarity, classes × features.
    selection
        Indices of the selected features.
    n_per_class
        How many features every class gets.

    Returns
    -------
    NDArray
        Boolean classes × len(selection). Ties go to the feature that comes first in `selection`.
    """
    order = np.argsort(-A[:, selection], axis=1, kind="stable")[:, :n_per_class]
    assignment = np.zeros((A.shape[0], len(selection)), dtype=bool)
    np.put_along_axis(assignment, order, True, axis=1)
    return assignment


def objective(
    A: NDArray[np.float64],
    R: NDArray[np.float64],
    b: NDArray[np.float64],
    selection: NDArray[np.int64],
    assignment: NDArray[np.bool_] | NDArray[np.int8],
    gamma: float = 1.0,
) -> Objective:
    """Compute Z = Σ a_cd w_cd s_d − Σ_{d<d'} r_dd' s_d s_d' + Σ b_d s_d, and its parts.

    Every unordered pair of selected features is charged once. The assignment is like that of
    `best_assignment`, its columns in the order of `selection`; where it is −1, the term is
    −gamma · a_cd. Every part is rounded once: terms that cancel out lose nothing on the way.
    """
    values = A[:, selection]
    gains = values[assignment > 0].tolist()
    gains += (-gamma * values[assignment < 0]).tolist()
    charges = np.triu(R[np.ix_(selection, selection)], 1)
    charges = charges[charges > 0].tolist()
    biases = b[selection].tolist()
    total = fsum([*gains, *(-charge for charge in charges), *biases])
    return Objective(total, fsum(gains), fsum(charges), fsum(biases))
