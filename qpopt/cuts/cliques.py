"""Cliques of redundant features: of those selected, every pair is redundant.

For a clique K and q = 1, 2, …, with y_de = s_d s_e: Σ_{pairs of K} y ≥ q Σ_{d∈K} s_d − q(q + 1)/2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def violated_cliques(R: Vector, s: Vector, y: Vector) -> list[tuple[tuple[int, ...], int]]:
    """Grow cliques of redundant features greedily on the support of s; return them with their q."""
    support = np.flatnonzero(s > 1e-4)
    found: dict[tuple[tuple[int, ...], int], float] = {}
    for start in support[np.argsort(-s[support])]:
        members = [int(start)]
        allowed = R[start] > 0
        taken = y[start].copy()
        while True:
            gain = np.where(allowed, s - taken, 0.0)
            best = int(gain.argmax())
            if gain[best] <= 1e-6:
                break
            members.append(best)
            allowed &= R[best] > 0
            taken += y[best]
        inside = sorted(members)
        total = float(s[inside].sum())
        q = max(1, int(np.floor(total)))
        pairs = float(y[np.ix_(inside, inside)].sum()) / 2
        excess = q * total - 0.5 * q * (q + 1) - pairs
        if len(inside) > 1 and excess > 1e-4:
            weakest = float((R[np.ix_(inside, inside)] + np.eye(len(inside)) * 9).min())
            found[tuple(inside), q] = excess * weakest
    return sorted(found, key=lambda key: -found[key])
