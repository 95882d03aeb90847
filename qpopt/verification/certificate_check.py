"""An independent check of a certificate: the bound recomputed from what it holds alone.

Nothing here is shared with the code that finds bounds. A certificate takes the selections of an
instance apart, in the order of a depth-first walk. A step bounds a part and sets aside what is with
or without some features; a split makes two parts of one; an end leaves a part. Every selection is
set aside by a step, which bounds it, or is in a part that ends, so the largest of these bounds is
one for all, whatever the certificate claims.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance
from qpopt.verification.certificate_schema import check_header, check_step
from qpopt.verification.enumeration_check import best_of_all
from qpopt.verification.step_bounds import step_bounds

if TYPE_CHECKING:
    from qpopt.proofs.certificate import Certificate


class Split(NamedTuple):
    """The part is split: what follows is about its selections with a feature, then without it."""

    feature: int


class End(NamedTuple):
    """The part ends here: its bound stands, or all of its selections are looked at."""

    enumerated: bool


class _Part(NamedTuple):
    """The selections with `included` and otherwise only `free`; none is better than `bound`."""

    included: set[int]
    free: set[int]
    bound: float


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
        A proven upper bound on Z, never below the objective that the certificate refers to.

    Raises
    ------
    InvalidCertificate
        If the certificate is for another instance, or not what a certificate is.
    """
    check_header(certificate)
    if certificate.fingerprint != instance.fingerprint:
        raise InvalidCertificate("The certificate is for another instance.")
    included = set(instance.include)
    free = set(range(instance.n_features)) - included - set(instance.exclude)
    parts = [_Part(included, free, inf)]
    worst = certificate.objective
    for number, item in enumerate(certificate.steps):
        if not parts:
            raise InvalidCertificate(f"Step {number} is about nothing: all parts have ended.")
        part = parts.pop()
        if isinstance(item, End):
            worst = max(worst, _ended(instance, part, item))
            continue
        if isinstance(item, Split):
            children = _split(part, item, number)
        else:
            aside, child = _narrowed(instance, part, item, number)
            worst, children = max(worst, aside), [child]
        parts += [child for child in children if _holds_selections(instance, child)]
    return max([worst, *(part.bound for part in parts)])


def _holds_selections(instance: Instance, part: _Part) -> bool:
    return 0 <= instance.n_select - len(part.included) <= len(part.free)


def _ended(instance: Instance, part: _Part, end: End) -> float:
    """Return the bound of a part that ends."""
    if type(end.enumerated) is not bool:
        raise InvalidCertificate("An end of a part does not say how.")
    if not end.enumerated:
        return part.bound
    return min(part.bound, best_of_all(instance, part.included, part.free))


def _split(part: _Part, split: Split, number: int) -> list[_Part]:
    """Return the parts without and with a feature: the last one comes first."""
    d = split.feature
    if type(d) is not int or d not in part.free:
        raise InvalidCertificate(f"Step {number} splits by a feature that is not free.")
    rest = part.free - {d}
    return [_Part(part.included, rest, part.bound), _Part(part.included | {d}, rest, part.bound)]


def _narrowed(instance: Instance, part: _Part, step: Any, number: int) -> tuple[float, _Part]:
    """Return the bound of what a step sets aside, and the part that it leaves."""
    check_step(instance, step)
    included, free = part.included, part.free
    if set(step.included.tolist()) != included and len(included | free) == instance.n_select:
        # There is only one selection: it may be written down as selected.
        included, free = included | free, set()
    if set(step.included.tolist()) != included:
        raise InvalidCertificate(f"Step {number} decides features without a reason.")
    if set(step.free.tolist()) != free and len(included) < instance.n_select:
        raise InvalidCertificate(f"Step {number} leaves out features without a reason.")
    found = step_bounds(instance, step)
    bound = min(part.bound, found.value)
    removed, forced = set(step.removed.tolist()), set(step.forced.tolist())
    if not removed | forced <= set(found.with_feature):
        raise InvalidCertificate(f"Step {number} decides a feature that is not free.")
    aside = [found.with_feature[d] for d in removed] + [found.without_feature[d] for d in forced]
    rest = _Part(included | forced, free - removed - forced, bound)
    if removed & forced:
        # With such a feature or without it: all is set aside.
        rest = _Part(set(), set(), bound)
    return min(bound, max(aside, default=-inf)), rest
