"""Pricing: what features that a relaxation leaves out would add.

Let S ⪰ 0 be the dual slack of the features F that are in, y and t the multipliers. With a feature j
that is left out, the best companion is the x ≥ 0 over F with Σx = n_select − 1 that maximises

    −xᵀSx − 2xᵀh_j,   h_j = ½y_F − C_Fj;

the maximum plus C_jj − t is the reduced cost of j: how much it could add.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.subproblem import Floats

POWER_STEPS = 12
"""Steps towards the largest eigenvalue of S, by which the steps of pricing are measured."""

PROJECTION_STEPS = 12
"""Most steps of Newton's method onto the simplex; a few are enough."""


class Prices(NamedTuple):
    """What is known of the features left out, one row each.

    Parameters
    ----------
    points
        The companions x_j.
    rows
        The products Sx_j.
    reach
        What a companion leaves room for at each feature in: −2Sx_j − 2h_j.
    values
        The maximum of −xᵀSx − 2xᵀh_j.
    """

    points: Floats
    rows: Floats
    reach: Floats
    values: NDArray[np.float64]


def price(S: Floats, H: NDArray[np.float64], n_select: int, steps: int) -> Prices:
    """Find a good companion for every feature left out, all at once.

    Parameters
    ----------
    S
        The dual slack of the features that are in.
    H
        The vectors h_j, features left out × features in.
    n_select
        The number of features to select.
    steps
        How many steps of an accelerated gradient method to make.
    """
    S = S.astype(np.float32)
    H = H.astype(np.float32)
    size = np.float32(n_select - 1)
    vector: Floats = np.ones(len(S), dtype=np.float32)
    for _ in range(POWER_STEPS):
        vector = S @ vector
        vector /= max(float(np.linalg.norm(vector)), 1e-30)
    length = np.float32(1.0 / max(1.1 * float(vector @ (S @ vector)), 1e-30))
    points: Floats = np.full(H.shape, size / max(len(S), 1), dtype=np.float32)
    ahead, momentum = points, 1.0
    for _ in range(steps):
        new = _on_simplex(ahead - length * (ahead @ S + H), size)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + np.float32((momentum - 1.0) / following) * (new - points)
        points, momentum = new, following
    rows = points @ S
    values = -((rows + 2.0 * H) * points).sum(axis=1, dtype=np.float64)
    return Prices(points, rows, -2.0 * (rows + H), values)


def _on_simplex(points: Floats, size: np.float32) -> Floats:
    """Return the nearest points ≥ 0 whose coordinates add up to `size`, row by row."""
    shift = (points.sum(axis=1) - size) / points.shape[1]
    for _ in range(PROJECTION_STEPS):
        inside = points > shift[:, None]
        total = np.where(inside, points, 0).sum(axis=1)
        new = (total - size) / np.maximum(inside.sum(axis=1), 1)
        if (new <= shift + 1e-6 * np.abs(shift)).all():
            break
        shift = np.maximum(shift, new).astype(points.dtype)
    nearest: Floats = np.maximum(points - shift[:, None], 0)
    return nearest
