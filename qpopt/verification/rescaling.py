"""The instance that the steps of a certificate are about, and its unit.

Nothing here is shared with the code that chooses the unit: whatever a certificate says about it,
Z = Z' / 2^exponent + Σ k_c · class_offsets + n_select · feature_offset holds for all solutions, up
to rounding, and rounding is paid for; k_c is how many features class c has. Where that is not known
of every class, the offsets are the same, and with negatives there are none.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidCertificate, InvalidInstance
from qpopt.problem.instance import Instance

if TYPE_CHECKING:
    from qpopt.proofs.certificate import Certificate

LARGEST_EXPONENT = 2200
"""What brings the smallest number to the size of the largest one, and more."""


def worked_on(instance: Instance, certificate: Certificate) -> Instance:
    """Return the instance that the steps are about.

    Raises
    ------
    InvalidCertificate
        If there is no such instance.
    """
    exponent, offsets = certificate.exponent, certificate.class_offsets
    if type(exponent) is not int or abs(exponent) > LARGEST_EXPONENT:
        raise InvalidCertificate(f"The exponent {exponent!r} of the unit is none.")
    if offsets is not None and (
        not isinstance(offsets, np.ndarray)
        or offsets.dtype != np.float64
        or offsets.shape != (instance.n_classes,)
        or not np.isfinite(offsets).all()
        or not isfinite(certificate.feature_offset)
    ):
        raise InvalidCertificate("The offsets must be a finite number for each class and for b.")
    if offsets is not None and not _add_a_constant(instance, offsets):
        raise InvalidCertificate("The offsets do not add the same to every solution.")
    allowed = np.ones(instance.n_features, dtype=bool)
    allowed[list(instance.excluded)] = False
    # What is forbidden counts for nothing.
    cells = allowed & ~instance.forbidden_cells
    A, b = instance.A, instance.b
    with np.errstate(over="ignore", under="ignore"):
        if offsets is not None:
            A, b = A - offsets[:, None], b - certificate.feature_offset
        A = np.where(cells, np.ldexp(A, exponent), 0.0)
        b = np.where(allowed, np.ldexp(b, exponent), 0.0)
        R = np.where(allowed[:, None] & allowed, np.ldexp(instance.R, exponent), 0.0)
    if not (np.isfinite(A).all() and np.isfinite(b).all() and np.isfinite(R).all()):
        raise InvalidCertificate("The unit of the certificate is too small for this instance.")
    try:
        return Instance(
            A, R, b, instance.n_select, instance.n_per_class,
            include=instance.include, exclude=instance.exclude, **instance.demands.arguments(),
        )  # fmt: skip
    except InvalidInstance as error:
        raise InvalidCertificate(f"The unit of the certificate is none: {error}") from None


def in_original_unit(instance: Instance, certificate: Certificate, value: float) -> float:
    """Turn a bound on Z' into one on Z, rounded up."""
    if not isfinite(value):
        return value
    made = worked_on(instance, certificate)
    exact = Fraction(value + _lost(made, certificate)) / _unit(certificate.exponent)
    exact += _constant(instance, certificate)
    bound = _float(exact)
    return nextafter(bound, inf) if bound < exact else bound


def _constant(instance: Instance, certificate: Certificate) -> Fraction:
    if certificate.class_offsets is None:
        return Fraction(0)
    offsets, budgets = certificate.class_offsets.tolist(), instance.budgets
    sizes = budgets.least.tolist()
    if not budgets.fixed:
        offsets, sizes = offsets[:1], [budgets.total]
    classes = [size * Fraction(value) for size, value in zip(sizes, offsets, strict=True)]
    return sum(classes, instance.n_select * Fraction(certificate.feature_offset))


def _add_a_constant(instance: Instance, offsets: NDArray[np.float64]) -> bool:
    """Tell whether the offsets of classes add the same to the Z of every solution."""
    if instance.negative is not None:
        return not offsets.any()
    return instance.budgets.fixed or bool((offsets == offsets[0]).all())


def _lost(made: Instance, certificate: Certificate) -> float:
    """Return what subtracting offsets and scaling can have lost."""
    m, k = made.n_select, int(made.budgets.most.max()) * max(1.0, made.gamma)
    lost = 0.0
    if certificate.exponent:
        # A power of two changes no digit, unless the number becomes too small to have them all.
        lost += (k * made.n_classes + m * m + m) * 2.0**-1073
    if certificate.class_offsets is not None:
        terms = k * float(np.abs(made.A).max(axis=1).sum()) + m * float(np.abs(made.b).max())
        lost += 2.0 * float(np.finfo(np.float64).eps) * terms
    return lost


def _unit(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
