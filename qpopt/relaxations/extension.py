"""Extension: how features that were left out join an iterate without disturbing it.

With the companions x_j of `qpopt.relaxations.pricing`, the rows −Sx_j and the entries x_jᵀSx_k
extend S such that it stays positive semidefinite, a Schur complement. What the new rows cost is
made up for in a few steps in which their features count for less than the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.quadric import QuadricCuts
from qpopt.problem.subproblem import Floats, Indices
from qpopt.relaxations.admm import Admm
from qpopt.relaxations.pricing import Prices, price


@dataclass(frozen=True)
class ExtensionParams:
    """How features join.

    Parameters
    ----------
    pricing_steps
        Steps of pricing.
    room
        Of the features that are in, so many times n_select have no room left for a new one: with
        less its row costs more, with more its diagonal.
    weight
        How much new features count while they settle.
    penalty
        Factor on the first penalty while they settle.
    """

    pricing_steps: int = 35
    room: float = 2.0
    weight: float = 0.35
    penalty: float = 8.0


DEFAULTS = ExtensionParams()


def prices(admm: Admm, rows: NDArray[np.float64], params: ExtensionParams = DEFAULTS) -> Prices:
    """Price features that are left out, by their rows of the objective matrix."""
    return price(admm.symmetric_S(), 0.5 * admm.y - rows, admm.n_select, params.pricing_steps)


def extend(
    admm: Admm, positions: Indices, C: NDArray[np.float64], params: ExtensionParams = DEFAULTS
) -> Indices:
    """Go on with more features; return the positions of the new ones, for `settle`.

    Parameters
    ----------
    admm
        The iterate.
    positions
        Where the present features stand among those of C.
    C
        The objective matrix of all.
    params
        How they join.
    """
    n, old = len(C), np.ix_(positions, positions)
    new = np.setdiff1d(np.arange(n), positions)
    found = prices(admm, C[np.ix_(new, positions)], params)
    place = min(int(params.room * admm.n_select), len(positions)) - 1
    y = np.empty(n)
    y[positions] = admm.y
    y[new] = -np.partition(-found.reach, place, axis=1)[:, place]
    X: Floats = np.zeros((n, n), dtype=admm.precision(n))
    S = np.zeros_like(X)
    X[old], S[old] = admm.X, admm.symmetric_S()
    S[np.ix_(new, positions)] = -found.rows
    S[np.ix_(positions, new)] = -found.rows.T
    S[np.ix_(new, new)] = found.rows @ found.points.T
    N = admm.N
    admm.become(X, S, X, y)
    cuts = (cut.renumbered(positions.tolist()) for cut in admm.cuts.cuts)
    admm.cuts = QuadricCuts(cuts, admm.cuts.multipliers)
    D = admm.slack(C).astype(X.dtype)
    S[new, new] = np.maximum(S[new, new], D[new, new])
    D -= S
    admm.N = np.maximum(D, 0, out=D)
    np.fill_diagonal(admm.N, 0)
    admm.N[old] = N
    admm.rank = n
    admm.set_objective(C)
    return new


def settle(
    admm: Admm,
    new: Indices,
    steps: int,
    stop: Callable[[], bool] = lambda: False,
    params: ExtensionParams = DEFAULTS,
) -> None:
    """Make steps in which new features count for less.

    Parameters
    ----------
    admm
        The iterate.
    new
        The positions of the new features.
    steps
        How many steps.
    stop
        Asked before every step; when it says so, no more are made.
    params
        How they join.
    """
    ones = np.ones(len(admm.y), dtype=admm.dtype)
    weights = ones.copy()
    weights[new] = params.weight
    admm.weigh(weights)
    admm.penalty = params.penalty * admm.first_penalty
    try:
        for _ in range(steps):
            if stop():
                break
            admm.step(settling=True)
    finally:
        admm.weigh(ones)
