"""The best sets where only their sizes together are given: every class grows while it pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance


def grown_sets(instance: Instance, selection: NDArray[np.int64]) -> NDArray[np.int8] | None:
    """Return the best sets under an average budget, equal ones allowed; None where there are none.

    Every class has what it must and its best features up to its least number; what is left goes to
    the largest of the next best values of all classes. As these fall within a class, nothing is
    better.
    """
    gains, least, most = falling_gains(instance, selection)
    order = np.argsort(-gains, axis=1, kind="stable")
    budgets = instance.budgets
    if (most < least).any() or not least.sum() <= budgets.total <= most.sum():
        return None
    places = np.arange(gains.shape[1])
    falling = np.take_along_axis(gains, order, axis=1)
    taken = places < least[:, None]
    open_ = ~taken & (places < most[:, None])
    left = int(budgets.total - least.sum())
    candidates = np.flatnonzero(open_)
    first = candidates[np.argsort(-falling.ravel()[candidates], kind="stable")[:left]]
    taken.ravel()[first] = True
    signs = np.zeros(gains.shape, np.int8)
    np.put_along_axis(signs, order, taken.astype(np.int8), axis=1)
    return signs


def size_price(instance: Instance, selection: NDArray[np.int64]) -> float:
    """Return what one feature more must bring in the best sets: between the last and the next."""
    gains, least, most = falling_gains(instance, selection)
    falling = -np.sort(-gains, axis=1)
    places = np.arange(gains.shape[1])
    open_ = (places >= least[:, None]) & (places < most[:, None])
    values = -np.sort(-falling[open_])
    left = int(instance.budgets.total - least.sum())
    if not len(values):
        return 0.0
    last = values[max(0, min(left, len(values)) - 1)]
    following = values[min(left, len(values) - 1)]
    return float(0.5 * (last + following))


def falling_gains(
    instance: Instance, selection: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return what assignments are worth, required ones most of all, and the sizes sets can have."""
    gains = instance.A[:, selection]
    far = 1.0 + 4.0 * float(np.abs(gains).max())
    forbidden = instance.forbidden_cells[:, selection]
    gains = np.where(instance.required_cells[:, selection], far, gains)
    gains = np.where(forbidden, -far, gains)
    most = np.minimum(instance.budgets.most, (~forbidden).sum(axis=1))
    return gains, instance.budgets.least, most
