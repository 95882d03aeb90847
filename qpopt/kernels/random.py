"""The one random generator of the compiled loops: xorshift, the same on every machine."""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled


@compiled()
def next_random(state):
    """Advance a one-element uint64 state that is not 0, and return 63 random bits."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64(x >> np.uint64(1))
