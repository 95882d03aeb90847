"""Whether features are either on or off: two clearly separated modes."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from qpopt_torch.metrics.metric import Metric

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
    the best split of the sorted values in two, so it needs no random numbers. All values are kept
    until `compute`, in float32 on the CPU.

    Parameters
    ----------
    params
        How the mixture is fitted.
    """

    title = "Contrastiveness"
    meaning = "features are clearly on or off"
    states: ClassVar = {"batches": add}

    def __init__(self, params: MixtureParams | None = None) -> None:
        self.params = params
        self.batches: list[Tensor] = []

    def update(self, features: Tensor) -> None:
        """Add a batch of pooled features, samples × features."""
        self.batches.append(features.detach().float().cpu())

    def compute(self) -> float:
        """Return the contrastiveness in percent; NaN without samples."""
        if not self.batches:
            return float("nan")
        values = torch.cat(self.batches).double().numpy()
        return 100.0 * float(np.mean([1.0 - overlap(column, self.params) for column in values.T]))


def overlap(values: Floats, params: MixtureParams | None = None) -> float:
    """Return the overlap of the two modes of some values; 1 where they are all the same."""
    modes = two_modes(values, params)
    return 1.0 if modes is None else modes[0].overlap(modes[1])


def two_modes(
    values: Floats, params: MixtureParams | None = None
) -> tuple[NormalDist, NormalDist, float] | None:
    """Fit a mixture of two Gaussians, by expectation maximisation, to values in any order.

    Returns the mode with the lower mean, the other one, and the weight of the first; None where
    all values are the same.
    """
    x = np.sort(values)
    spread = x.std()
    if not spread > 1e-12 * max(abs(x[0]), abs(x[-1])):
        return None
    x = (x - x.mean()) / spread
    means, variances, weights = _fit(x, params or MixtureParams())
    centre = float(values.mean())
    low, high = np.argsort(means)
    modes = [
        NormalDist(float(means[i] * spread + centre), float(np.sqrt(variances[i]) * spread))
        for i in (low, high)
    ]
    return modes[0], modes[1], float(weights[low])


def _fit(x: Floats, params: MixtureParams) -> tuple[Floats, Floats, Floats]:
    """Return means, variances and weights of two modes of sorted values.

    How much more likely a value is in the second mode than in the first is the exponential of a
    quadratic in the value, so an iteration takes a handful of vector operations.
    """
    n, squares = len(x), x * x
    sums = np.array([x.sum(), squares.sum()])
    split = _best_split(x)
    means = np.array([x[:split].mean(), x[split:].mean()])
    variances = np.maximum([x[:split].var(), x[split:].var()], params.least_variance)
    weights = np.array([split, n - split]) / n
    last = -np.inf
    for _ in range(params.most_iterations):
        # The logarithm of each weighted density is a x² + b x + c.
        a, b = -0.5 / variances, means / variances
        c = np.log(weights) - 0.5 * (np.log(2 * np.pi * variances) + means**2 / variances)
        odds = (a[1] - a[0]) * squares + (b[1] - b[0]) * x + (c[1] - c[0])
        first = a[0] * sums[1] / n + b[0] * sums[0] / n + c[0]
        mean_log = float(first + np.logaddexp(0.0, odds).mean())
        if mean_log - last < params.tolerance:
            break
        last = mean_log
        share = expit(odds)
        mass = np.array([expit(-odds).sum(), share.sum()]) + 1e-300
        weights = mass / n
        second = np.array([share @ x, share @ squares])
        means = np.array([sums[0] - second[0], second[0]]) / mass
        variances = np.array([sums[1] - second[1], second[1]]) / mass - means**2
        variances = np.maximum(variances, params.least_variance)
    return means, variances, weights


def _best_split(x: Floats) -> int:
    """Return where to cut sorted values in two with the least variance within the parts."""
    n = len(x)
    sizes = np.arange(1, n)
    left = np.cumsum(x)[:-1]
    between = left**2 / sizes + (x.sum() - left) ** 2 / (n - sizes)
    return int(between.argmax()) + 1
