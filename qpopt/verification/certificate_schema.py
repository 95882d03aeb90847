"""What a certificate must look like before any arithmetic: exact types, shapes, ranges and indices.

NumPy stretches short arrays, counts negative indices from the end and takes truth values for masks
without a word: whatever is not exactly as it must be is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance
from qpopt.verification.family_check import LARGEST_CORE, LARGEST_FAMILY

if TYPE_CHECKING:
    from qpopt.cuts.families import Family
    from qpopt.cuts.group_cuts import Group
    from qpopt.cuts.split_thresholds import SplitThresholdCuts
    from qpopt.proofs.certificate import Certificate
    from qpopt.relaxations.step import Step
    from qpopt.verification.certificate_check import Claim

FIELDS = (
    "free", "included", "splits", "groups", "y", "t", "cuts", "multipliers", "B",
    "removed", "forced", "watched", "points",
)  # fmt: skip
DOUBLE = (np.dtype(np.float64),)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
LARGEST_LEVEL = 2**31
"""Levels of cuts up to here are exact in every product."""


def check_header(certificate: Certificate) -> None:
    """Raise unless the values that stand before the steps are of their types."""
    if type(certificate.fingerprint) is not str:
        raise InvalidCertificate("The fingerprint of the certificate is no text.")
    if not _is_number(certificate.bound) and certificate.bound not in (inf, -inf):
        raise InvalidCertificate("The bound of the certificate is no number.")
    if not _is_number(certificate.objective) and certificate.objective != -inf:
        raise InvalidCertificate("The objective of the certificate is no finite number.")
    if not _is_number(certificate.feature_offset):
        raise InvalidCertificate("The offset of b is no finite number.")
    if not isinstance(certificate.steps, tuple | list):
        raise InvalidCertificate("The steps of the certificate are no list.")


def check_claim(claim: Claim) -> None:
    """Raise unless a claim says whose it is, in a word, and what is claimed."""
    solver: Any = claim.solver
    # A name and no more: it is shown to people.
    if type(solver) is not str or not (solver.isascii() and solver.isidentifier()):
        raise InvalidCertificate("A claim does not say whose it is.")
    if not _is_number(claim.bound):
        raise InvalidCertificate("The bound of a claim is no finite number.")


def check_step(instance: Instance, step: Step) -> None:
    """Raise unless all of a step has the type, shape and range that its meaning asks for."""
    for label in FIELDS:
        if not hasattr(step, label):
            raise InvalidCertificate(f"A step has no {label}.")
    for label in ("free", "included", "removed", "forced", "watched"):
        _check_features(label, getattr(step, label), instance.n_features)
    if np.isin(step.free, step.included).any():
        raise InvalidCertificate("A feature is both free and included.")
    n = len(step.free)
    _check_floats("y", step.y, (n,), DOUBLE)
    _check_floats("B", step.B, (n, n), FLOATS)
    pointed = len(step.removed) + len(step.watched)
    _check_floats("points", step.points, (pointed, n), FLOATS)
    if (step.points < 0).any():
        raise InvalidCertificate("A point has a negative coordinate.")
    if not _is_number(step.t):
        raise InvalidCertificate("t must be finite.")
    _check_class_cuts(step.splits, instance.n_classes, n)
    if not isinstance(step.groups, list | tuple):
        raise InvalidCertificate("The groups of classes are no list.")
    for group in step.groups:
        _check_group(group, instance.n_classes, n, instance.alike)
        for family in (group.family, group.given_family):
            _check_family(family, len(group.classes), instance.n_features)
    _check_cuts(step, n)


def _check_class_cuts(splits: SplitThresholdCuts, n_classes: int, n_free: int) -> None:
    """Check the cuts of single classes; the feature −1 stands for none."""
    classes = _indices("classes of the class cuts", getattr(splits, "classes", None), n_classes)
    feature = _indices(
        "feature of the class cuts", getattr(splits, "feature", None), n_free, least=-1
    )
    if feature.shape != classes.shape:
        raise InvalidCertificate("The arrays of the class cuts differ in their shapes.")
    for label in ("given", "otherwise", "shares"):
        values = getattr(splits, label, None)
        _check_floats(f"{label} of the class cuts", values, classes.shape, DOUBLE)


def _check_group(
    group: Group, n_classes: int, n_free: int, alike: Sequence[tuple[int, int]]
) -> None:
    """Check one group of classes: different ones that exist, with a threshold for each.

    A group that is split on a feature has another threshold for each where that is selected. Where
    the classes are a pair, it is known how many features they share, and σ may be negative.
    """
    classes = getattr(group, "classes", None)
    if not isinstance(classes, tuple) or not all(type(c) is int for c in classes):
        raise InvalidCertificate("The classes of a group are no list of whole numbers.")
    feature: Any = getattr(group, "feature", None)
    if type(feature) is not int or not -1 <= feature < n_free:
        raise InvalidCertificate("A group is split on a feature that does not exist.")
    known = all(0 <= c < n_classes for c in classes)
    for label in ("thresholds", "given") if feature >= 0 else ("thresholds",):
        thresholds: Any = getattr(group, label, None)
        if not known or getattr(thresholds, "shape", None) != (len(classes),):
            raise InvalidCertificate("A group needs one threshold for each of its classes.")
        _check_floats(f"{label} of a group", thresholds, (len(classes),), DOUBLE)
    multipliers: list[Any] = [
        getattr(group, label, None) for label in ("share", "sigma", "given_sigma")
    ]
    signed = (False, classes in alike, classes in alike)
    given = zip(multipliers, signed, strict=True)
    if not all(_is_number(value) and (value >= 0 or free) for value, free in given):
        raise InvalidCertificate("A group of classes has a negative multiplier, or none.")
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise InvalidCertificate("A group of classes names fewer than two, or one twice.")


def _check_family(family: Family | None, n_classes: int, n_features: int) -> None:
    """Check a family: few classes, and few features with a price for each."""
    if family is None:
        return
    if not isinstance(family, tuple) or len(family) != 3:
        raise InvalidCertificate("A family needs features, prices and a number.")
    core, prices, most = family
    _check_features("The features of a family", core, n_features)
    if n_classes > LARGEST_FAMILY or len(core) > LARGEST_CORE:
        raise InvalidCertificate("A family is too large to look at all of its sets.")
    _check_floats("The prices of a family", prices, core.shape, DOUBLE)
    if not _is_number(most) or most < 0 or (prices < 0).any():
        raise InvalidCertificate("A family has a negative price or gain, or none.")


def _check_cuts(step: Step, n_free: int) -> None:
    """Check the cuts on X and their multipliers."""
    if not isinstance(step.cuts, list | tuple):
        raise InvalidCertificate("The cuts are no list.")
    _check_floats("multipliers", step.multipliers, (len(step.cuts),), DOUBLE)
    if (step.multipliers < 0).any():
        raise InvalidCertificate("The multipliers of the cuts must be non-negative.")
    for cut in step.cuts:
        if not isinstance(cut, tuple) or len(cut) != 3 or not _are_tuples(cut[1:]):
            raise InvalidCertificate("A cut needs a level and two lists of features.")
        level, plus, minus = cut
        members = (*plus, *minus)
        if type(level) is not int or abs(level) > LARGEST_LEVEL:
            raise InvalidCertificate("The level of a cut is no whole number, or a huge one.")
        if not all(type(d) is int and 0 <= d < n_free for d in members):
            raise InvalidCertificate("A cut names a feature that does not exist.")
        if len(set(members)) != len(members):
            raise InvalidCertificate("A cut names a feature twice.")


def _check_features(label: str, values: Any, n_features: int) -> None:
    features = _indices(label, values, n_features)
    if len(np.unique(features)) < len(features):
        raise InvalidCertificate(f"{label} names a feature twice.")


def _indices(label: str, values: Any, end: int, least: int = 0) -> Any:
    """Return a list of whole numbers from `least` to before `end`."""
    right = isinstance(values, np.ndarray) and values.dtype == np.int64 and values.ndim == 1
    if not right:
        raise InvalidCertificate(f"{label} is no list of whole numbers.")
    if len(values) and not (values.min() >= least and values.max() < end):
        raise InvalidCertificate(f"{label} names one that does not exist.")
    return values


def _check_floats(
    label: str, values: Any, shape: tuple[int, ...], dtypes: Sequence[np.dtype[Any]]
) -> None:
    right = isinstance(values, np.ndarray) and values.dtype in dtypes and values.shape == shape
    if not right or not np.isfinite(values).all():
        raise InvalidCertificate(f"{label} must hold finite numbers of the shape {shape}.")


def _is_number(value: Any) -> bool:
    """Tell whether a value is a finite float; whole numbers and truth values are none."""
    return isinstance(value, float) and isfinite(value)


def _are_tuples(values: Sequence[Any]) -> bool:
    return all(isinstance(value, tuple) for value in values)
