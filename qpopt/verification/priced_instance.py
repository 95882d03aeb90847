"""The plain instance that a certificate of an instance with demands is about, rounded up.

Nothing here is shared with the code that makes it: whatever multipliers a certificate has, every
solution of the instance is one of the plain instance, with a Z that is no smaller there. With
prices μ of the features, θ of a feature of a class and ν_c ≥ 0 of a negative,

- class c gets a_cd − μ_d from feature d, or −γ a_cd − μ_d − ν_c if that is more and it may have
  negatives; μ_d comes back as M μ_d or m μ_d at the most, as m to M classes use a selected feature,
  and q ν_c as c has q negatives at the most;
- a feature that is forbidden to a class is never used, so it may be worth anything;
- one that is required is used in any case, so it may be worth as much as the best one, `high`, less
  the difference;
- columns are added that are always selected: a class takes those worth `high` for features that it
  has fewer than the largest class, and those worth θ for features that it may have or not;
- with negatives, classes may have the same features with other signs: columns of which no two
  classes take the same tell them apart.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, islice
from math import comb, inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidCertificate, InvalidInstance
from qpopt.problem.instance import Instance

if TYPE_CHECKING:
    from qpopt.proofs.certificate import Certificate

Array = NDArray[np.float64]

LARGEST = 1e200
"""Numbers below this can be added up."""


def priced_instance(instance: Instance, certificate: Certificate) -> Instance:
    """Return the plain instance, or the instance itself where it states no demands.

    Raises
    ------
    InvalidCertificate
        If the multipliers are none, or there are some without demands.
    """
    if not instance.demands:
        if certificate.multipliers is not None:
            raise InvalidCertificate("There are multipliers of demands, but no demands.")
        return instance
    prices, size_price, sign_prices = _checked(instance, certificate.multipliers)
    budgets, (few, many) = instance.budgets, instance.uses
    required, forbidden = instance.required_cells, instance.forbidden_cells
    gains = _up(instance.A - prices)
    constant = Fraction(0)
    if instance.negative is not None:
        absent = _up(_up(_up(-instance.gamma * instance.A) - prices) - sign_prices[:, None])
        gains = np.where(required, gains, np.maximum(gains, absent))
        constant += instance.most_negative * sum(map(Fraction, sign_prices.tolist()), Fraction(0))
    high = np.maximum(gains.max(axis=1), size_price)
    low = np.minimum(gains.min(axis=1), size_price)
    low = low - np.maximum(high - low, 1e-9 * np.maximum(np.abs(high), 1e-9))
    for c, d in np.argwhere(required).tolist():
        constant -= Fraction(float(high[c])) - Fraction(float(gains[c, d]))
    gains = np.where(required, high[:, None], gains)
    gains = np.where(forbidden, low[:, None], gains)
    largest = int(budgets.most.max())
    must, may = largest - budgets.most, budgets.most - budgets.least
    own = _own_columns(instance)
    columns = np.hstack(
        [
            _taken(must, high, low),
            _taken(may, np.full(len(high), size_price), low),
            np.where(own, high[:, None], low[:, None]),
        ]
    )
    n_own = int(own[0].sum()) if own.size else 0
    for c, value in enumerate(high.tolist()):
        constant -= (int(must[c]) + n_own) * Fraction(value)
    constant -= (int(budgets.most.sum()) - budgets.total) * Fraction(size_price)
    b = [
        _rounded_up(Fraction(bias) + (many if mu > 0 else few) * Fraction(mu)
                    + constant / instance.n_select)
        for bias, mu in zip(instance.b.tolist(), prices.tolist(), strict=True)
    ]  # fmt: skip
    return _made(instance, gains, np.array(b), columns, largest + n_own)


def _checked(instance: Instance, multipliers: Any) -> tuple[Array, float, Array]:
    """Return the multipliers, if they are finite numbers of the right signs."""
    if not isinstance(multipliers, tuple) or len(multipliers) != 3:
        raise InvalidCertificate("The certificate holds no multipliers of the demands.")
    prices, size_price, sign_prices = multipliers
    for label, values, n in (
        ("Prices of features", prices, instance.n_features),
        ("Prices of negatives", sign_prices, instance.n_classes),
    ):
        right = isinstance(values, np.ndarray) and values.dtype == np.float64
        if not right or values.shape != (n,) or not (np.abs(values) < LARGEST).all():
            raise InvalidCertificate(f"{label} must be {n} finite numbers.")
    if (sign_prices < 0).any():
        raise InvalidCertificate("Prices of negatives must not be negative.")
    if not isinstance(size_price, float) or not abs(size_price) < LARGEST:
        raise InvalidCertificate("The price of a size must be a finite number.")
    return prices, size_price, sign_prices


def _up(values: Array) -> Array:
    """Return numbers that what was rounded to these values does not exceed."""
    return np.nextafter(values, inf)


def _rounded_up(value: Fraction) -> float:
    nearest = float(value)
    return nextafter(nearest, inf) if nearest < value else nearest


def _taken(counts: NDArray[np.int64], value: Array, low: Array) -> Array:
    """Return columns of which every class takes so many at a value."""
    taken = np.arange(int(counts.max())) < counts[:, None]
    return np.where(taken, value[:, None], low[:, None])


def _own_columns(instance: Instance) -> NDArray[np.bool_]:
    """Return which of some columns a class takes, no two the same; none without negatives."""
    n = instance.n_classes
    if instance.negative is None or n < 2:
        return np.zeros((n, 0), dtype=bool)
    size = 2
    while comb(size, size // 2) < n:
        size += 1
    own = np.zeros((n, size), dtype=bool)
    for c, chosen in enumerate(islice(combinations(range(size), size // 2), n)):
        own[c, list(chosen)] = True
    return own


def _made(instance: Instance, gains: Array, b: Array, columns: Array, n_per_class: int) -> Instance:
    n, more = instance.n_features, columns.shape[1]
    R = np.zeros((n + more, n + more))
    R[:n, :n] = instance.R
    try:
        made = Instance(
            np.hstack([gains, columns]), R, np.append(b, np.zeros(more)),
            instance.n_select + more, n_per_class,
            include=[*instance.included, *range(n, n + more)], exclude=instance.excluded,
        )  # fmt: skip
    except InvalidInstance as error:
        raise InvalidCertificate(f"The multipliers of the demands are none: {error}") from None
    # Classes that are a pair share all columns but one, the added ones among them.
    object.__setattr__(made, "alike", instance.pairs)
    return made
