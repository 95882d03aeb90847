"""Scaling: an instance in numbers of the size that solvers are made for, and the way back.

Solvers work within absolute tolerances, so what they prove depends on the unit of Z. Every solve
and every bound therefore works on the instance times a power of two, which changes no digit. Where
the terms of Z are far larger than what tells solutions apart, as in A = 10⁹ + noise taken back
through b, constants are taken out first: every class has so many features and every selection
`n_select`, so a constant in a row of A, or in b, adds the same to the Z of every solution. Where
only the features of all classes together are counted, the constant must be the same for all rows;
where features may count by their absence, there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import frexp, inf, isfinite, nextafter
from operator import mul

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidInstance
from qpopt.problem.instance import Instance
from qpopt.problem.tolerances import ROUNDING

TYPICAL_EXPONENT = 10
"""The terms of Z add up to less than two to this power, and to at least half of it: what `prepare`
makes of most data."""

CANCELLING = 64.0
"""Constants are taken out where what is left is so many times smaller."""

MOST_APART = 2.0**200
"""R may be so many times larger than A and b."""

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Scaling:
    """An instance, the one that is worked on instead, and how numbers of the two correspond.

    Parameters
    ----------
    original, instance
        The instance asked about, and (A − class_offsets, R, b − feature_offset) · 2^exponent.
    exponent, class_offsets, feature_offset
        How it was made; without offsets nothing was taken out.
    """

    original: Instance
    instance: Instance
    exponent: int = 0
    class_offsets: NDArray[np.float64] | None = None
    feature_offset: float = 0.0

    @cached_property
    def constant(self) -> Fraction:
        """What was taken out of every Z, in the unit of the original."""
        if self.class_offsets is None:
            return Fraction(0)
        given, offsets = self.original.budgets, [Fraction(o) for o in self.class_offsets.tolist()]
        if given.fixed:
            classes = sum(map(mul, given.least.tolist(), offsets), Fraction(0))
        else:
            classes = given.total * offsets[0]
        return classes + self.original.n_select * Fraction(self.feature_offset)

    @cached_property
    def offset(self) -> float:
        """The same in the unit that is worked in."""
        return float(self.constant * Fraction(2) ** self.exponent)

    @property
    def size(self) -> float:
        """What rounding is relative to, in the unit of the original."""
        terms = Fraction(size_of_terms(self.instance)) / Fraction(2) ** self.exponent
        # A Z of the original is a rounded number itself.
        return max(float(terms), float(abs(self.constant)) * EPS / ROUNDING)

    def into(self, value: float) -> float:
        """Turn a Z of the original into one of the instance that is worked on."""
        if not isfinite(value):
            return value
        return _nearest((Fraction(value) - self.constant) * Fraction(2) ** self.exponent)

    def back(self, value: float) -> float:
        """Turn a Z of the instance that is worked on into one of the original."""
        return value if not isfinite(value) else _nearest(self._exactly(value))

    def bound_into(self, value: float) -> float:
        """Turn a bound on Z of the original into one of the instance that is worked on."""
        if not isfinite(value):
            return value
        exact = (Fraction(value) - self.constant) * Fraction(2) ** self.exponent
        return self._paid(_rounded_up(exact))

    def bound_back(self, value: float) -> float:
        """Turn a bound back, rounded up."""
        value = self._paid(value)
        return value if not isfinite(value) else _rounded_up(self._exactly(value))

    def _paid(self, bound: float) -> float:
        """Add what taking constants out can have lost: it has rounded every term once."""
        if self.class_offsets is None:
            return bound
        return bound + 2.0 * EPS * size_of_terms(self.instance)

    def _exactly(self, value: float) -> Fraction:
        return Fraction(value) / Fraction(2) ** self.exponent + self.constant


def scaled(instance: Instance) -> Scaling:
    """Bring an instance to the size that solvers are made for; what cannot count becomes 0.

    Raises
    ------
    InvalidInstance
        If A and b are nothing beside R.
    """
    allowed = np.ones(instance.n_features, dtype=bool)
    allowed[list(instance.excluded)] = False
    cells = instance.free_cells | instance.required_cells if instance.forbidden else allowed
    A, b = np.where(cells, instance.A, 0.0), np.where(allowed, instance.b, 0.0)
    R = np.where(allowed[:, None] & allowed, instance.R, 0.0)
    size = _size(A, R, b, instance)
    # The median itself, not the mean of two: subtracting a value of the data is mostly exact.
    half = np.count_nonzero(allowed) // 2
    class_offsets = _class_offsets(instance, A[:, allowed], half)
    feature_offset = float(np.partition(b[allowed], half)[half])
    centred = np.where(cells, A - class_offsets[:, None], 0.0)
    centred_b = np.where(allowed, b - feature_offset, 0.0)
    left = _size(centred, R, centred_b, instance)
    taken_out = CANCELLING * left < size
    if taken_out:
        A, b, size = centred, centred_b, left
    exponent = TYPICAL_EXPONENT - frexp(size)[1] if size else 0
    with np.errstate(over="ignore"):
        A, R, b = np.ldexp(A, exponent), np.ldexp(R, exponent), np.ldexp(b, exponent)
    if not R.max() < MOST_APART:
        raise InvalidInstance(
            f"R reaches {instance.R.max():.3g}, beside which A and b are lost in rounding. Forbid "
            "pairs by a redundancy that is a few times what a feature can gain."
        )
    if exponent == 0 and not taken_out and allowed.all() and not instance.forbidden:
        return Scaling(instance, instance)
    made = Instance(
        A, R, b, instance.n_select, instance.n_per_class,
        include=instance.include, exclude=instance.exclude, hint=instance.hint, name=instance.name,
        **instance.demands.arguments(),
    )  # fmt: skip
    if not taken_out:
        return Scaling(instance, made, exponent)
    return Scaling(instance, made, exponent, class_offsets, feature_offset)


def _class_offsets(instance: Instance, A: NDArray[np.float64], half: int) -> NDArray[np.float64]:
    """Return what is taken out of every row: medians, where that adds a constant to every Z."""
    if instance.negative is not None:
        return np.zeros(len(A))
    medians = np.partition(A, half, axis=1)[:, half]
    if instance.budgets.fixed:
        return medians
    return np.full(len(A), np.partition(medians, len(A) // 2)[len(A) // 2])


def size_of_terms(instance: Instance) -> float:
    """Return what similarity and bias add up to at the most, in absolute terms.

    It is what a solver's tolerances are relative to: Z itself may be 0. Redundancy counts only
    where there is nothing else, as solutions mostly avoid it however large it is.
    """
    return _size(instance.A, instance.R, instance.b, instance)


def _size(
    A: NDArray[np.float64], R: NDArray[np.float64], b: NDArray[np.float64], instance: Instance
) -> float:
    m, budgets = instance.n_select, instance.budgets
    bias = np.partition(np.abs(b), len(b) - m)[len(b) - m :].sum()
    largest = np.abs(A).max(axis=1)
    similarity = min(float(budgets.most @ largest), budgets.total * float(largest.max()))
    size = max(1.0, instance.gamma) * similarity + float(bias)
    return size or max(m * (m - 1) / 2, 1.0) * float(R.max())


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _rounded_up(value: Fraction) -> float:
    nearest = _nearest(value)
    return nextafter(nearest, inf) if isfinite(nearest) and nearest < value else nearest
