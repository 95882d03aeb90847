"""LinearCut: one row of the linear relaxation, with the multipliers that prove it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.families import Family
from qpopt.cuts.group_cuts import size_of_multipliers

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearCut:
    """Σ_{c∈classes} z_c − Σ_e∈pairs y_e ≤ constant + gains · s, by thresholds of classes."""

    classes: tuple[int, ...]
    constant: float
    gains: Vector
    pairs: tuple[int, ...] = ()
    thresholds: Vector = field(default_factory=lambda: np.zeros(0))
    sigma: float = 0.0
    family: Family | None = None

    def size(self, n_taken: int) -> float:
        """Return what its multipliers add up to where so many features are taken."""
        size = size_of_multipliers(self.thresholds, self.sigma, n_taken)
        return size if self.family is None else size + self.family.size
