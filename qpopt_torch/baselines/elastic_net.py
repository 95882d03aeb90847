"""Multinomial logistic regression with an elastic net, along a path of strengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from qpopt_torch.errors import TrainingError, shown

CHANGE = 1e-7
"""Relative change of the weights below which a fit has converged."""
GROWTH = 1.2
"""How much longer each step is tried, since the loss may have become flatter."""
MOST_STEPS = 2000
"""Steps after which a fit ends in any case."""


@dataclass(frozen=True)
class Fit:
    """The minimum for one strength of the penalty.

    Parameters
    ----------
    strength
        The λ of the penalty.
    weight, bias
        Classes × features, and one number a class.
    """

    strength: float
    weight: Tensor
    bias: Tensor

    @property
    def n_used(self) -> int:
        """How many weights are not 0."""
        return int(torch.count_nonzero(self.weight))


class ElasticNet:
    """Cross entropy plus λ [α Ω(W) + (1 − α)/2 ‖W‖²], with a free bias.

    Ω is the sum of all |w|, or, for whole features at a time, of the Euclidean norms of the
    columns. Minimised by accelerated proximal steps whose length is found by backtracking.

    Parameters
    ----------
    features
        Samples × features, standardised.
    labels
        The class of every sample.
    n_classes
        How many classes there are.
    mixing
        The α.
    grouped
        Whether all weights of a feature vanish together.
    change
        The relative change of the weights in one step below which a fit has converged.
    """

    def __init__(
        self,
        features: Tensor,
        labels: Tensor,
        n_classes: int,
        *,
        mixing: float,
        grouped: bool = False,
        change: float = CHANGE,
    ) -> None:
        if not 0 < mixing <= 1:
            raise TrainingError(f"mixing must be above 0 and at most 1, not {shown(mixing)}.")
        self.features, self.labels, self.mixing, self.grouped = features, labels, mixing, grouped
        self.n_samples, self.n_features = features.shape
        self.change = max(change, 8 * torch.finfo(features.dtype).eps)
        self.n_classes = n_classes
        self.targets = F.one_hot(labels, n_classes).to(features.dtype)
        shares = self.targets.mean(0)
        if not (shares > 0).all():
            raise TrainingError(f"Class {int(shares.argmin())} has no sample to fit.")
        self.start = Fit(0.0, features.new_zeros(n_classes, self.n_features), shares.log())

    @property
    def strongest(self) -> float:
        """The smallest strength at which all weights are 0."""
        return float(self.pull(self.slope(self.start)).max()) / self.mixing

    def slope(self, fit: Fit) -> Tensor:
        """Return the slope of the cross entropy in the weights, classes × features."""
        return self._slopes(fit.weight, fit.bias, self.features)[1]

    def pull(self, slope: Tensor) -> Tensor:
        """Return what moves each feature: the norm of its column of slopes, or the largest."""
        return slope.norm(dim=0) if self.grouped else slope.abs().amax(0)

    def strengths(self, n: int, least: float, most: float = 1.0) -> list[float]:
        """Return strengths that fall in equal ratios, as multiples of the strongest."""
        steps = torch.linspace(0, 1, n, dtype=torch.float64)
        return [self.strongest * most * (least / most) ** float(step) for step in steps]

    def path(self, strengths: list[float]) -> Iterator[Fit]:
        """Yield the fits of falling strengths, each started from the one before."""
        fit = self.start
        for strength in strengths:
            fit = self.fit(strength, fit)
            yield fit

    def fit(self, strength: float, start: Fit | None = None) -> Fit:
        """Return the fit of one strength.

        Features are left out at first if their pull was far too weak at the start; whoever should
        not have been is found afterwards, and the fit repeated with it.

        Parameters
        ----------
        strength
            The λ.
        start
            A fit of another strength to begin with.
        """
        fit, level = start or self.start, strength * self.mixing
        pulls = self.pull(self.slope(fit))
        before = fit.strength * self.mixing if fit.strength else level
        inside = (fit.weight != 0).any(0) | (pulls >= 2 * level - before)
        while True:
            columns = inside.nonzero().flatten()
            fit = self.fit_on(columns, strength, fit)
            missed = ~inside & (self.pull(self.slope(fit)) > level * (1 + 1e-6))
            if not missed.any():
                return fit
            inside |= missed

    def fit_on(self, columns: Tensor, strength: float, start: Fit | None = None) -> Fit:
        """Return the fit in which all features but these have the weight 0."""
        start = start or self.start
        x = self.features[:, columns]
        weight, bias = start.weight[:, columns], start.bias
        ahead, ahead_bias, momentum, length = weight, bias, 1.0, 1.0
        noise = 8 * torch.finfo(x.dtype).eps
        for _ in range(MOST_STEPS):
            value, slope, slope_bias = self._value_and_slopes(ahead, ahead_bias, x)
            length *= GROWTH
            while True:
                new = self._shrink(ahead - length * slope, length * strength)
                new_bias = ahead_bias - length * slope_bias
                step, step_bias = new - ahead, new_bias - ahead_bias
                squares = float(step.square().sum() + step_bias.square().sum())
                straight = value + float((slope * step).sum() + (slope_bias * step_bias).sum())
                reached = self._value(new, new_bias, x)
                if reached <= straight + squares / (2 * length) + noise * abs(value):
                    break
                length /= 2
            moved, moved_bias = new - weight, new_bias - bias
            uphill = float(((ahead - new) * moved).sum() + ((ahead_bias - new_bias) @ moved_bias))
            following = 1.0 if uphill > 0 else (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            push = 0.0 if uphill > 0 else (momentum - 1) / following
            change = float(moved.square().sum() + moved_bias.square().sum()) ** 0.5
            size = float(new.square().sum() + new_bias.square().sum()) ** 0.5
            weight, bias, momentum = new, new_bias, following
            ahead, ahead_bias = weight + push * moved, bias + push * moved_bias
            if change <= self.change * max(size, 1e-12):
                break
        whole = start.weight.new_zeros(start.weight.shape)
        whole[:, columns] = weight
        return Fit(strength, whole, bias)

    def _value(self, weight: Tensor, bias: Tensor, x: Tensor) -> float:
        return float(F.cross_entropy(F.linear(x, weight, bias), self.labels))

    def _value_and_slopes(
        self, weight: Tensor, bias: Tensor, x: Tensor
    ) -> tuple[float, Tensor, Tensor]:
        residual, slope = self._slopes(weight, bias, x)
        return self._value(weight, bias, x), slope, residual.sum(0)

    def _slopes(self, weight: Tensor, bias: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return what every sample pulls at its logits, and the slopes of the weights."""
        chances = F.linear(x, weight, bias).softmax(1)
        residual = (chances - self.targets) / self.n_samples
        return residual, residual.T @ x

    def _shrink(self, weight: Tensor, amount: float) -> Tensor:
        """Return the proximal step of the penalty: smaller, and partly 0."""
        level = amount * self.mixing
        if self.grouped:
            norms = weight.norm(dim=0).clamp_min(1e-300)
            weight = weight * (1 - level / norms).clamp_min(0)
        else:
            weight = F.softshrink(weight, level)
        return weight / (1 + amount * (1 - self.mixing))
