"""An independent check of a certificate: the bound recomputed from its multipliers alone.

Nothing here is shared with the code that finds bounds. What has to hold is stated in
`qpopt.proofs.certificate`; every step is recomputed from the instance with dense arithmetic and a
Cholesky factorisation.
"""

from __future__ import annotations

from math import comb, inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance
from qpopt.verification.rescaling import in_original_unit, worked_on
from qpopt.verification.step_bounds import step_bounds

if TYPE_CHECKING:
    from qpopt.proofs.certificate import Certificate, Step


def check_certificate(instance: Instance, certificate: Certificate) -> float:
    """Recompute the bound that a certificate proves.

    Parameters
    ----------
    instance
        The instance that it is for.
    certificate
        The certificate.

    Returns
    -------
    float
        A proven upper bound on Z, provided that a solution with the objective that the
        certificate refers to exists: `verify` checks that one.

    Raises
    ------
    InvalidCertificate
        If the certificate is for another instance, or a step is not a proof.
    """
    if certificate.fingerprint != instance.fingerprint:
        raise InvalidCertificate("The certificate is for another instance.")
    asked = instance
    instance, objective = worked_on(asked, certificate)
    included = set(instance.include)
    free = set(range(instance.n_features)) - included - set(instance.exclude)
    best = inf
    for number, step in enumerate(certificate.steps):
        _check_shapes(instance, step)
        if set(step.included.tolist()) != included:
            if len(step.free) or len(free) + len(included) != instance.n_select:
                raise InvalidCertificate(f"Step {number} decides features without a reason.")
            included, free = included | free, set()
            if set(step.included.tolist()) != included:
                raise InvalidCertificate(f"Step {number} decides features without a reason.")
        if set(step.free.tolist()) != free and len(included) < instance.n_select:
            raise InvalidCertificate(f"Step {number} leaves out features without a reason.")
        value, with_feature, without_feature = step_bounds(instance, step)
        best = min(best, value)
        for d in step.removed.tolist():
            if d not in free or not with_feature[d] <= objective:
                raise InvalidCertificate(f"Step {number} removes feature {d} without a reason.")
        for d in step.forced.tolist():
            if d not in free or not without_feature[d] <= objective:
                raise InvalidCertificate(f"Step {number} includes feature {d} without a reason.")
        removed, forced = set(step.removed.tolist()), set(step.forced.tolist())
        included |= forced
        free -= removed | forced
        missing = instance.n_select - len(included)
        if removed & forced or comb(max(len(free), 0), max(missing, 0)) == 0 or missing < 0:
            best = -inf
            break
    return max(in_original_unit(asked, certificate, best), certificate.objective)


def _check_shapes(instance: Instance, step: Step) -> None:
    """Raise unless every array has the shape, and every index the range, that its meaning asks for.

    NumPy would stretch a short array and count a negative index from the end without a word.
    """
    n = len(step.free)
    for label in ("free", "included", "removed", "forced"):
        features = _indices(label, getattr(step, label), instance.n_features)
        if len(set(features.tolist())) < len(features):
            raise InvalidCertificate(f"{label} names a feature twice.")
    _check_numbers("y", step.y, (n,))
    _check_numbers("B", step.B, (n, n))
    _check_numbers("points", step.points, (len(step.removed), n))
    if not np.isfinite(step.t):
        raise InvalidCertificate("t must be finite.")
    for group in step.groups:
        known = all(0 <= c < instance.n_classes for c in group.classes)
        if not known or np.shape(group.thresholds) != (len(group.classes),):
            raise InvalidCertificate("A group needs one threshold for each of its classes.")
    # The cuts of single classes; the feature −1 stands for none.
    splits = step.splits
    classes = _indices("classes of the class cuts", splits.classes, instance.n_classes)
    feature = _indices("feature of the class cuts", splits.feature, n, least=-1)
    if feature.shape != classes.shape:
        raise InvalidCertificate("The arrays of the class cuts differ in their shapes.")
    for label in ("given", "otherwise", "shares"):
        _check_numbers(f"{label} of the class cuts", getattr(splits, label), classes.shape)


def _indices(label: str, values: ArrayLike, end: int, least: int = 0) -> NDArray[np.int64]:
    """Return a list of whole numbers from `least` to before `end`."""
    indices = np.asarray(values)
    if indices.ndim != 1 or (len(indices) and indices.dtype.kind not in "iu"):
        raise InvalidCertificate(f"{label} is no list of whole numbers.")
    if len(indices) and not (indices.min() >= least and indices.max() < end):
        raise InvalidCertificate(f"{label} names one that does not exist.")
    return indices


def _check_numbers(label: str, values: ArrayLike, shape: tuple[int, ...]) -> None:
    array = np.asarray(values)
    wrong_kind = array.size and array.dtype.kind != "f"
    if array.shape != shape or wrong_kind or not np.isfinite(array).all():
        raise InvalidCertificate(f"{label} must hold finite numbers of the shape {shape}.")
