"""Symmetric matrices with many zeros, as few bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pack_triangle(matrix: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the upper triangle row by row: one packed bit a pair, and the positive values."""
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    return np.packbits(pairs > 0), pairs[pairs > 0]


def unpack_triangle(
    bits: NDArray[np.uint8], values: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the symmetric matrix, with a diagonal of zeros, that `pack_triangle` packed."""
    n_pairs = size * (size - 1) // 2
    pairs = np.zeros(n_pairs)
    pairs[np.unpackbits(bits, count=n_pairs).astype(bool)] = values
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size, 1)] = pairs
    return matrix + matrix.T
