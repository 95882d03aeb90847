"""Multipliers from a selection: those that make its plain instance tell what it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.assigning.growing import size_price
from qpopt.problem.assigning.program import Program
from qpopt.problem.assigning.relaxed import Multipliers, no_multipliers

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance

Vector = NDArray[np.float64]

HALVINGS = 50
"""How often an interval is halved to find a price."""


def has_multipliers(instance: Instance) -> bool:
    """Tell whether any demand has a multiplier."""
    priced = instance.classes_per_feature is not None or instance.negative is not None
    return priced or not instance.budgets.fixed


def multipliers_at(instance: Instance, selection: NDArray[np.int64]) -> Multipliers:
    """Return multipliers with which the plain instance bounds a selection as closely as can be.

    Prices of features that are not selected are what they would be at the same thresholds.
    """
    by = no_multipliers(instance)
    if not has_multipliers(instance):
        return by
    if instance.classes_per_feature is None and instance.negative is None:
        return by._replace(size_price=size_price(instance, selection))
    if instance.classes_per_feature is None and instance.budgets.fixed:
        return by._replace(sign_prices=_sign_prices(instance, selection))
    answer = Program(instance, selection, with_pairs=False).linear()
    if not np.isfinite(answer.bound):
        return by
    by = by._replace(sign_prices=answer.sign_prices)
    if not instance.budgets.fixed:
        by = by._replace(size_price=answer.size_price)
    if instance.classes_per_feature is None:
        return by
    thresholds = answer.class_prices + answer.size_price
    return by._replace(prices=_prices(instance, thresholds, by.sign_prices))


def _prices(instance: Instance, thresholds: Vector, sign_prices: Vector) -> Vector:
    """Return for every feature the price at which it serves as many classes as it may."""
    few, many = instance.uses
    above = instance.A - thresholds[:, None]
    if instance.negative is not None:
        absent = -instance.gamma * instance.A - (thresholds + sign_prices)[:, None]
        above = np.maximum(above, absent)
    above = np.where(instance.forbidden_cells, -np.inf, above)
    above = np.where(instance.required_cells, np.inf, above)
    falling = -np.sort(-above, axis=0)
    prices = np.zeros(instance.n_features)
    if many < instance.n_classes:
        prices = np.maximum(prices, np.where(np.isfinite(falling[many]), falling[many], 0.0))
    if few > 0:
        least = falling[few - 1]
        prices += np.minimum(np.where(np.isfinite(least), least, 0.0), 0.0)
    return prices


def _sign_prices(instance: Instance, selection: NDArray[np.int64]) -> Vector:
    """Return for every class the least price at which it takes no more negatives than it may."""
    present = instance.A[:, selection]
    absent = -instance.gamma * present
    allowed = ~instance.forbidden_cells[:, selection]
    required = instance.required_cells[:, selection]
    far = 1.0 + 4.0 * max(1.0, instance.gamma) * float(np.abs(present).max())
    present = np.where(required, far, np.where(allowed, present, -far))
    absent = np.where(allowed & ~required, absent, -2.0 * far)
    sizes, most = instance.budgets.most, instance.most_negative
    result: Vector = np.zeros(instance.n_classes)
    too_many = _negatives(present, absent, result, sizes) > most
    classes = np.flatnonzero(too_many)
    low: Vector = np.zeros(len(classes))
    high: Vector = np.full(len(classes), 2.0 * far)
    for _ in range(HALVINGS if len(classes) else 0):
        middle = 0.5 * (low + high)
        enough = _negatives(present[classes], absent[classes], middle, sizes[classes]) <= most
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    result[classes] = high
    return result


def _negatives(
    present: Vector, absent: Vector, prices: Vector, sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many negatives every class takes at some prices."""
    absent = absent - prices[:, None]
    order = np.argsort(-np.maximum(present, absent), axis=1, kind="stable")
    chosen = np.arange(present.shape[1]) < sizes[:, None]
    count: NDArray[np.int64] = (np.take_along_axis(absent > present, order, axis=1) & chosen).sum(1)
    return count
