"""How redundant two features are: the cosine between their columns of A."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.kernels.redundancy import positive_gram
from qpopt.problem.validation import matrix


def redundancy(A: ArrayLike) -> NDArray[np.float64]:
    """Compute the cosine between all columns of A, negative values and the diagonal set to 0.

    The sums run over the classes in their order, never through a BLAS, so the result is the same
    bit for bit on every machine.

    Parameters
    ----------
    A
        Raw similarity, classes × features.

    Returns
    -------
    NDArray
        Symmetric features × features matrix with entries from 0 to 1. A feature whose column is
        zero is redundant with none.

    Examples
    --------
    >>> import numpy as np
    >>> import qpopt
    >>> qpopt.redundancy(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 3.0]])).round(2)
    array([[0.  , 1.  , 0.71],
           [1.  , 0.  , 0.71],
           [0.71, 0.71, 0.  ]])
    """
    similarity = matrix("A", A)
    # Powers of two scale exactly and keep the squares clear of overflow and underflow.
    _, exponents = np.frexp(np.abs(similarity).max(axis=0))
    columns = np.ldexp(similarity, -exponents)
    squares = np.zeros(columns.shape[1])
    for row in columns:
        squares += row * row
    lengths = np.sqrt(squares)
    units = np.divide(columns, lengths, out=np.zeros_like(columns), where=lengths > 0)
    R: NDArray[np.float64] = positive_gram(units)
    # Columns at right angles have a cosine of 0; what rounding leaves of it is no redundancy.
    R[len(similarity) * np.finfo(float).eps > R] = 0.0
    return np.minimum(R, 1.0)
