"""Positive semidefinite or not: the negative part of a matrix, and how far it is from none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh, eigvalsh

from qpopt.problem.subproblem import Floats

EPS = float(np.finfo(np.float64).eps)

LARGE = 400
"""From this size on, a few Cholesky factorisations are quicker than one eigenvalue."""

GROWTH = 4.0
"""By how much a deficit grows from one trial to the next."""


def negative_part(W: Floats, rank: int) -> tuple[Floats, int]:
    """Return the negative part of W as a positive semidefinite matrix, and its rank.

    Whichever part of W has the smaller rank is computed, the other one follows.

    Parameters
    ----------
    W
        A symmetric matrix.
    rank
        What the rank is expected to be; the closer, the quicker.
    """
    n = len(W)
    few = min(rank, n - rank)
    negative = 2 * rank <= n
    wanted = [-np.inf, 0.0] if negative else [0.0, np.inf]
    try:
        if 0 < few < n // 3 and n > 100:
            values, vectors = eigh(W, driver="evr", subset_by_value=wanted, check_finite=False)
        else:
            values, vectors = eigh(W, driver="evd", check_finite=False)
            negative = 2 * int(np.count_nonzero(values < 0)) <= n
    except LinAlgError:
        values, vectors = eigh(W.astype(np.float64), driver="ev", check_finite=False)
    chosen = values < 0 if negative else values > 0
    count = int(np.count_nonzero(chosen))
    vectors = vectors[:, chosen] * np.sqrt(np.abs(values[chosen]))
    vectors = np.ascontiguousarray(vectors, dtype=W.dtype)
    result: Floats = vectors @ vectors.T
    if not negative:
        result -= W
    return result, count if negative else n - count


def eigenvalue_deficit(B: NDArray[np.float64], guess: float = 0.0) -> float:
    """Return δ ≥ max(0, −λ_min(B)): B + δI is positive semidefinite.

    Small matrices get the smallest δ, but for rounding; large ones get one that is found quickly.

    Parameters
    ----------
    B
        A symmetric matrix.
    guess
        What came out for a matrix much like it: where it is large, trials begin a little below, so
        that it falls again.
    """
    n = len(B)
    if n >= LARGE:
        return _deficit_by_factors(B, guess)
    smallest = float(eigvalsh(B, subset_by_index=[0, 0], check_finite=False)[0])
    return max(0.0, -smallest + 8.0 * n * EPS * float(np.linalg.norm(B)))


def _deficit_by_factors(B: NDArray[np.float64], guess: float) -> float:
    """Try growing δ until B + δI, less all that rounding can hide, has a Cholesky factorisation.

    A factorisation of B + cI that succeeds proves λ_min(B) ≥ −c − (n + 1)·EPS·tr(B + cI), with a
    factor near 1 (Higham, Theorem 10.7); the margin below is four times that.
    """
    n, trace = len(B), float(np.trace(B))
    least = 3e-8 * max(trace, 0.0) / n + 8.0 * (n + 2) * EPS * abs(trace) + 1e-300
    deficit = max(least, guess / GROWTH if guess < np.inf else 0.0)
    while deficit < np.inf:
        shift = deficit - 4.0 * (n + 2) * EPS * (abs(trace) + n * deficit)
        shifted = B.copy()
        shifted[np.diag_indices(n)] += shift
        try:
            cholesky(shifted, overwrite_a=True, check_finite=False)
        except LinAlgError:
            deficit *= GROWTH
        else:
            return deficit
    return np.inf
