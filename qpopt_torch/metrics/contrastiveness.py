"""Whether features are either on or off: two clearly separated modes."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from qpopt_torch.metrics.metric import Metric
from qpopt_torch.metrics.value_bins import Binned, ValueBins

EXACT = 200_000
"""Samples up to which all values are kept."""
TOGETHER = 20_000
"""Samples that are put into bins at a time."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MixtureParams:
    """How the mixture is fitted.

    Parameters
    ----------
    most_iterations
        Iterations after which the fit ends even if it has not converged.
    tolerance
        Gain of the mean log-likelihood below which the fit counts as converged.
    least_variance
        Smallest variance of a mode, relative to that of the feature: a mode of equal values would
        have a likelihood without limit.
    """

    most_iterations: int = 500
    tolerance: float = 1e-8
    least_variance: float = 1e-6


class Contrastiveness(Metric):
    """Contrastiveness = mean_d (1 − overlap of the two modes of feature d).

    The modes are the components of a two-component Gaussian mixture fitted to the feature over all
    samples; their overlap is the area under the smaller of the two densities. The fit starts from
    the best split of the sorted values in two, so it needs no random numbers. Up to `EXACT` samples
    all values are kept until `compute`, in float32 on the CPU; of more, only how many fall into
    which of `ValueBins`, and what they add up to there.

    Parameters
    ----------
    params
        How the mixture is fitted.
    """

    title = "Contrastiveness"
    meaning = "features are clearly on or off"

    def __init__(self, params: MixtureParams | None = None) -> None:
        self.params = params
        self.batches: list[Tensor] = []
        self.bins: ValueBins | None = None

    def update(self, features: Tensor) -> None:
        """Add a batch of pooled features, samples × features."""
        self.batches.append(features.detach().float().cpu())
        kept = sum(map(len, self.batches))
        if kept > (EXACT if self.bins is None else TOGETHER):
            self._bin()

    def merge(self, other: Metric) -> None:
        """Add what another accumulator saw."""
        assert isinstance(other, Contrastiveness)
        if other.bins is not None:
            if self.bins is None:
                self.bins = deepcopy(other.bins)
            else:
                self.bins.merge(other.bins)
        for batch in other.batches:
            self.update(batch)

    def _bin(self) -> None:
        values = torch.cat(self.batches).double().numpy()
        self.batches = []
        if self.bins is None:
            self.bins = ValueBins(values[:TOGETHER])
            values = values[TOGETHER:]
        for first in range(0, len(values), TOGETHER):
            self.bins.add(values[first : first + TOGETHER])

    def compute(self) -> float:
        """Return the contrastiveness in percent; NaN without samples."""
        if self.bins is not None:
            if self.batches:
                self._bin()
            n_features = self.bins.sums.shape[1]
            found = [_shared(self.bins.of(d), self.params) for d in range(n_features)]
            return 100.0 * float(np.mean([1.0 - each for each in found]))
        if not self.batches:
            return float("nan")
        values = torch.cat(self.batches).double().numpy()
        return 100.0 * float(np.mean([1.0 - overlap(column, self.params) for column in values.T]))


def overlap(values: Floats, params: MixtureParams | None = None) -> float:
    """Return the overlap of the two modes of some values; 1 where they are all the same."""
    return _shared(Binned(np.ones(len(values)), ordered := np.sort(values), ordered**2), params)


def _shared(values: Binned, params: MixtureParams | None) -> float:
    modes = modes_of(values, params)
    return 1.0 if modes is None else modes[0].overlap(modes[1])


def two_modes(
    values: Floats, params: MixtureParams | None = None
) -> tuple[NormalDist, NormalDist, float] | None:
    """Fit a mixture of two Gaussians, by expectation maximisation, to values in any order.

    Returns the mode with the lower mean, the other one, and the weight of the first; None where
    all values are the same.
    """
    x = np.sort(values)
    return modes_of(Binned(np.ones(len(x)), x, x * x), params)


def modes_of(
    values: Binned, params: MixtureParams | None = None
) -> tuple[NormalDist, NormalDist, float] | None:
    """Fit a mixture of two Gaussians as `two_modes` does, to values in bins."""
    counts, x, squares = values
    n = counts.sum()
    centre = float(counts @ x / n)
    # Around the mean, for a square may be much larger than what it differs by.
    squares = squares - 2 * centre * x + centre**2
    spread = float(np.sqrt(max(counts @ squares / n, 0.0)))
    if not spread > 1e-12 * max(abs(x[0]), abs(x[-1])):
        return None
    scaled = Binned(counts, (x - centre) / spread, squares / spread**2)
    means, variances, weights = _fit(scaled, params or MixtureParams())
    low, high = np.argsort(means)
    modes = [
        NormalDist(float(means[i] * spread + centre), float(np.sqrt(variances[i]) * spread))
        for i in (low, high)
    ]
    return modes[0], modes[1], float(weights[low])


def _fit(values: Binned, params: MixtureParams) -> tuple[Floats, Floats, Floats]:
    """Return means, variances and weights of two modes of sorted values.

    How much more likely a value is in the second mode than in the first is the exponential of a
    quadratic in the value, so an iteration takes a handful of vector operations.
    """
    counts, x, squares = values
    n = float(counts.sum())
    sums = np.array([counts @ x, counts @ squares])
    split = _best_split(counts, x)
    parts = [slice(None, split), slice(split, None)]
    masses = np.array([counts[part].sum() for part in parts])
    means = np.array([counts[part] @ x[part] for part in parts]) / masses
    seconds = np.array([counts[part] @ squares[part] for part in parts]) / masses
    variances = np.maximum(seconds - means**2, params.least_variance)
    weights = masses / n
    last = -np.inf
    for _ in range(params.most_iterations):
        # The logarithm of each weighted density is a x² + b x + c.
        a, b = -0.5 / variances, means / variances
        c = np.log(weights) - 0.5 * (np.log(2 * np.pi * variances) + means**2 / variances)
        odds = (a[1] - a[0]) * squares + (b[1] - b[0]) * x + (c[1] - c[0])
        first = a[0] * sums[1] / n + b[0] * sums[0] / n + c[0]
        mean_log = float(first + counts @ np.logaddexp(0.0, odds) / n)
        if mean_log - last < params.tolerance:
            break
        last = mean_log
        share = counts * expit(odds)
        mass = np.array([counts @ expit(-odds), share.sum()]) + 1e-300
        weights = mass / n
        second = np.array([share @ x, share @ squares])
        means = np.array([sums[0] - second[0], second[0]]) / mass
        variances = np.array([sums[1] - second[1], second[1]]) / mass - means**2
        variances = np.maximum(variances, params.least_variance)
    return means, variances, weights


def _best_split(counts: Floats, x: Floats) -> int:
    """Return where to cut sorted values in two with the least variance within the parts."""
    sizes = np.cumsum(counts)[:-1]
    left = np.cumsum(counts * x)[:-1]
    between = left**2 / sizes + (counts @ x - left) ** 2 / (counts.sum() - sizes)
    return int(between.argmax()) + 1
