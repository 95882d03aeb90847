"""Relaxed solutions to look for cuts at."""

from __future__ import annotations

import numpy as np


def noise(rng, n, m):
    """Return a random symmetric matrix with the trace m and an even diagonal."""
    X = rng.random((n, n))
    X = (X + X.T) / 2
    np.fill_diagonal(X, m / n)
    return X
