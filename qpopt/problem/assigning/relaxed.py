"""The plain instance that bounds an instance with demands, by multipliers.

Whatever multipliers are taken, every solution of the instance is one of the plain instance, with a
Z that is no smaller there: so whatever bounds the plain instance bounds the other. It is made by

- prices μ of `classes_per_feature` = (m, M): a_cd − μ_d, and b_d + M μ_d⁺ − m μ_d⁻;
- forbidden cells, which become the worst of their row, and required ones, which become the best,
  less a constant;
- further columns that are always selected: one that a class must have for every feature that it
  has fewer than others, and ones that are worth the price θ of a feature where sizes may differ;
- negative assignments: the better of a_cd and −γ a_cd − ν_c, and q ν_c for every class. Classes may
  then have the same features with other signs, so columns that tell the classes apart are added.

Constants are shared out over b, as every selection has the same number of features.
"""

from __future__ import annotations

from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from qpopt.problem.instance import Instance


Vector = NDArray[np.float64]


class Multipliers(NamedTuple):
    """What the demands cost.

    Parameters
    ----------
    prices
        μ: what serving a class costs a feature; may be negative.
    size_price
        θ: what one more feature of a class must bring, where sizes may differ.
    sign_prices
        ν ≥ 0: what a negative assignment costs a class.
    """

    prices: Vector
    size_price: float
    sign_prices: Vector


class Parts(NamedTuple):
    """What the plain instance is made of, beside R.

    Parameters
    ----------
    A, b
        Similarity and bias of the features.
    columns
        Similarity of the columns that are added, classes × columns.
    n_per_class
        How many columns every class gets.
    """

    A: Vector
    b: Vector
    columns: Vector
    n_per_class: int


def no_multipliers(instance: Instance) -> Multipliers:
    """Return multipliers that cost nothing, with a size price amid the similarities."""
    size_price = 0.0
    if not instance.budgets.fixed:
        # About what the last feature of a class is worth in a good selection.
        share = instance.n_per_class / instance.n_select
        size_price = float(np.quantile(instance.A, 1.0 - 0.5 * share))
    return Multipliers(np.zeros(instance.n_features), size_price, np.zeros(instance.n_classes))


def relaxed_parts(
    instance: Instance,
    by: Multipliers,
    *,
    A: Vector | None = None,
    distance: float = 1.0,
    apart: bool = True,
) -> Parts:
    """Return what the plain instance is made of.

    Parameters
    ----------
    instance, by
        The instance, and what its demands cost.
    A
        What assignments are worth instead, which may be no bound; None for what they are worth.
    distance
        How far below all others forbidden cells lie, as a multiple of how far these lie apart.
    apart
        Whether to tell classes apart that may have the same features with other signs. Without
        that, what is made of an instance with negatives does not bound it.
    """
    budgets, (few, many) = instance.budgets, instance.uses
    A = instance.A if A is None else A
    gains = A - by.prices
    constant = 0.0
    if instance.negative is not None:
        absent = -instance.gamma * A - by.prices - by.sign_prices[:, None]
        gains = np.where(instance.required_cells, gains, np.maximum(gains, absent))
        constant += instance.most_negative * float(by.sign_prices.sum())
    high = np.maximum(gains.max(axis=1), by.size_price)
    low = np.minimum(gains.min(axis=1), by.size_price)
    low = low - distance * np.maximum(high - low, 1e-9 * np.maximum(np.abs(high), 1e-9))
    required = instance.required_cells
    constant -= float((high[:, None] - gains)[required].sum())
    gains = np.where(required, high[:, None], gains)
    gains = np.where(instance.forbidden_cells, low[:, None], gains)
    # Columns that a class must have, and those that stand for features that it need not have.
    n_per_class = int(budgets.most.max())
    fixed, open_ = n_per_class - budgets.most, budgets.most - budgets.least
    must = np.arange(int(fixed.max())) < fixed[:, None]
    may = np.arange(int(open_.max())) < open_[:, None]
    own = _telling_apart(instance) if apart else np.zeros((instance.n_classes, 0), dtype=bool)
    columns = np.hstack(
        [
            np.where(must, high[:, None], low[:, None]),
            np.where(may, by.size_price, low[:, None]),
            np.where(own, high[:, None], low[:, None]),
        ]
    )
    n_own = int(own[0].sum()) if own.size else 0
    constant -= float((fixed + n_own) @ high)
    constant -= by.size_price * float(budgets.most.sum() - budgets.total)
    price = np.maximum(by.prices, 0.0) * many + np.minimum(by.prices, 0.0) * few
    b = instance.b + price + constant / instance.n_select
    return Parts(gains, b, columns, n_per_class + n_own)


def _telling_apart(instance: Instance) -> NDArray[np.bool_]:
    """Return which of some columns every class has, each another half; none without negatives."""
    n_classes = instance.n_classes
    if instance.negative is None or n_classes < 2:
        return np.zeros((n_classes, 0), dtype=bool)
    size = next(size for size in range(2, n_classes + 1) if comb(size, size // 2) >= n_classes)
    own = np.zeros((n_classes, size), dtype=bool)
    for c, chosen in enumerate(islice(combinations(range(size), size // 2), n_classes)):
        own[c, list(chosen)] = True
    return own
