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
from qpopt.verification.rescaling import in_original_unit, worked_on
from qpopt.verification.step_bounds import step_bounds

if TYPE_CHECKING:
    from qpopt.proofs.certificate import Certificate


class Split(NamedTuple):
    """The part is split: what follows is about its selections with a feature, then without it."""

    feature: int


class End(NamedTuple):
    """The part ends here: its bound stands, or all of its selections are looked at."""

    enumerated: bool


class PartOfProof(NamedTuple):
    """The selections with `included` and otherwise only `free`; none is better than `bound`."""

    included: frozenset[int]
    free: frozenset[int]
    bound: float


class Examination(NamedTuple):
    """What a certificate shows.

    Parameters
    ----------
    aside
        No selection that a step sets aside is better.
    parts
        The parts that ended, in their order: together with what was set aside, all selections.
    """

    aside: float
    parts: list[PartOfProof]


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
    aside, parts = examine(instance, certificate)
    found = max([aside, *(part.bound for part in parts)])
    return max(certificate.objective, in_original_unit(instance, certificate, found))


def examine(instance: Instance, certificate: Certificate) -> Examination:
    """Go through a certificate; parameters and errors are those of `check_certificate`.

    Bounds are in the unit of the certificate.
    """
    check_header(certificate)
    if certificate.fingerprint != instance.fingerprint:
        raise InvalidCertificate("The certificate is for another instance.")
    instance = worked_on(instance, certificate)
    included = frozenset(instance.include)
    free = frozenset(range(instance.n_features)) - included - set(instance.exclude)
    aside, open_, ended = -inf, [PartOfProof(included, free, inf)], []
    for number, item in enumerate(certificate.steps):
        if not open_:
            raise InvalidCertificate(f"Step {number} is about nothing: all parts have ended.")
        part = open_.pop()
        if isinstance(item, End):
            ended.append(_ended(instance, part, item))
        elif isinstance(item, Split):
            open_ += _split(part, item, number)
        else:
            found, rest = _narrowed(instance, part, item, number)
            aside = max(aside, found)
            open_.append(rest)
    ended += [_ended(instance, part, End(enumerated=False)) for part in reversed(open_)]
    return Examination(aside, ended)


def _holds_selections(instance: Instance, part: PartOfProof) -> bool:
    return 0 <= instance.n_select - len(part.included) <= len(part.free)


def _ended(instance: Instance, part: PartOfProof, end: End) -> PartOfProof:
    """Return a part that ends with its bound."""
    if type(end.enumerated) is not bool:
        raise InvalidCertificate("An end of a part does not say how.")
    if not _holds_selections(instance, part):
        return part._replace(bound=-inf)
    if not end.enumerated:
        return part
    return part._replace(bound=min(part.bound, best_of_all(instance, part.included, part.free)))


def _split(part: PartOfProof, split: Split, number: int) -> list[PartOfProof]:
    """Return the parts without and with a feature: the last one comes first."""
    d = split.feature
    if type(d) is not int or d not in part.free:
        raise InvalidCertificate(f"Step {number} splits by a feature that is not free.")
    rest = part._replace(free=part.free - {d})
    return [rest, rest._replace(included=part.included | {d})]


def _narrowed(
    instance: Instance, part: PartOfProof, step: Any, number: int
) -> tuple[float, PartOfProof]:
    """Return the bound of what a step sets aside, and the part that it leaves."""
    check_step(instance, step)
    if not _holds_selections(instance, part):
        raise InvalidCertificate(f"Step {number} is about a part without selections.")
    included, free = part.included, part.free
    if set(step.included.tolist()) != included and len(included | free) == instance.n_select:
        # There is only one selection: it may be written down as selected.
        included, free = included | free, frozenset()
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
    rest = PartOfProof(included | forced, free - removed - forced, bound)
    if removed & forced:
        # With such a feature or without it: all is set aside.
        rest = PartOfProof(frozenset(), frozenset(), bound)
    return min(bound, max(aside, default=-inf)), rest
