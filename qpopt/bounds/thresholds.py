"""Threshold cuts: an exact linear description of what the classes gain, without assignment.

top_k(c, s) = min over τ of kτ + Σ_d (a_cd − τ)⁺ s_d. Lifted to X = ssᵀ there is one threshold for
every class and feature: n_select · top_k(c) ≤ Σ_i [k τ_ci X_ii + Σ_d (a_cd − τ_ci)⁺ X_id].
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from qpopt.bounds.reduced import Floats, Reduced

LOWEST_DIAGONAL = 1e-4
"""Rows of X with a smaller diagonal are noise; common thresholds take the place of theirs."""

MOST_ROUNDS = 24
"""How many sets of thresholds are averaged; the oldest is dropped."""


class LiftedThresholds:
    """The weighted average of several sets of lifted threshold cuts, and its matrix.

    Every set is valid, so is every average. Averaging is needed because the best thresholds for
    one X jump; the matrix of the average moves slowly.

    Parameters
    ----------
    reduced
        The problem whose classes are bounded.
    rounds
        Sets of thresholds (weight, classes × free) to start with; without any, add one first.
    """

    def __init__(
        self, reduced: Reduced, rounds: list[tuple[float, NDArray[np.float32]]] | None = None
    ) -> None:
        columns = reduced.columns()
        self._reduced = reduced
        self._order = np.argsort(-columns, axis=1, kind="stable").astype(np.int32)
        self._values = np.take_along_axis(columns, self._order, axis=1)
        self.rounds: list[tuple[float, NDArray[np.float32]]] = []
        n = reduced.n_free
        self.matrix: NDArray[np.float64] = np.zeros((n, n))
        total = sum(weight for weight, _ in rounds or [])
        for weight, thresholds in rounds or []:
            self.rounds.append((weight / total, thresholds))
            self.matrix += weight / total * self._matrix_of(thresholds)

    def update(self, X: Floats, weight: float) -> None:
        """Give the best thresholds for X the share `weight` of the average."""
        thresholds = self.best(X)
        if not self.rounds:
            weight = 1.0
        self.rounds = [(share * (1.0 - weight), old) for share, old in self.rounds]
        self.rounds.append((weight, thresholds))
        self.matrix *= 1.0 - weight
        self.matrix += weight * self._matrix_of(thresholds)
        if len(self.rounds) > MOST_ROUNDS:
            self._drop_oldest()

    def copy(self) -> LiftedThresholds:
        """Return an average that goes its own way from here."""
        twin = copy(self)
        twin.rounds = list(self.rounds)
        twin.matrix = self.matrix.copy()
        return twin

    def best(self, X: Floats) -> NDArray[np.float32]:
        """Return the best thresholds for X, classes × free."""
        from qpopt.bounds.kernels import best_thresholds

        thresholds = np.empty((self._reduced.n_classes, self._reduced.n_free), dtype=np.float32)
        best_thresholds(
            self._order, self._values, X, self._reduced.n_per_class, LOWEST_DIAGONAL, thresholds
        )
        return thresholds

    def _drop_oldest(self) -> None:
        share, thresholds = self.rounds.pop(0)
        self.matrix -= share * self._matrix_of(thresholds)
        self.matrix /= 1.0 - share
        self.rounds = [(weight / (1.0 - share), kept) for weight, kept in self.rounds]

    def _matrix_of(self, thresholds: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the symmetric matrix of one set of cuts, to be used with X = ssᵀ."""
        from qpopt.bounds.kernels import lifted_matrix

        n = self._reduced.n_free
        L = np.empty((n, n))
        lifted_matrix(self._order, self._values, thresholds, self._reduced.n_per_class, L)
        result: NDArray[np.float64] = (L + L.T) * (0.5 / self._reduced.n_select)
        return result
