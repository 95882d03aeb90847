"""Candidate features: which ones a relaxed solution would select, the most promising first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.cuts.split_thresholds import class_columns, common_thresholds
from qpopt.problem.subproblem import Indices, Subproblem


class FeatureRanking:
    """The free features of a subproblem, ordered by what they add to a fractional selection."""

    def __init__(self, sub: Subproblem) -> None:
        self._sub = sub
        self._columns = class_columns(sub)

    def first(self, steps: int = 10) -> Indices:
        """Order the features, knowing nothing: by conditional gradients of the relaxed Z.

        They start with all features alike; more steps change little.
        """
        n, m = self._sub.n_free, self._sub.n_select
        selection = np.full(n, m / n)
        for step in range(steps):
            best = np.zeros(n)
            best[self.given(selection)[:m]] = 1.0
            selection += 2.0 / (step + 3.0) * (best - selection)
        return self.given(selection)

    def given(self, selection: NDArray[np.float64]) -> Indices:
        """Order the features by the gradient of the relaxed Z at a fractional selection.

        The gradient is what a feature adds to the classes at their thresholds, plus its bias, less
        its redundancy with the selection.
        """
        sub = self._sub
        weight = np.ones(self._columns.order.shape[1])
        weight[: sub.n_free] = selection
        thresholds = common_thresholds(self._columns, weight)
        gain = np.maximum(sub.A - thresholds[:, None], 0.0).sum(axis=0)
        order: Indices = np.argsort(-(gain + sub.b - sub.R @ selection), kind="stable")
        return order
