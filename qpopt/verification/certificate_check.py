"""An independent check of a certificate: the bound recomputed from what it holds alone.

Nothing here is shared with the code that finds bounds. A certificate takes the selections of an
instance apart, in the order of a depth-first walk. A step bounds a part and sets aside what is with
or without some features; a split makes two parts of one; an end leaves a part. Every selection is
set aside by a step, which bounds it, or is in a part that ends, so the largest of these bounds is
one for all, whatever the certificate claims. Under demands all of that is about the plain instance
of `qpopt.verification.priced_instance`. What a certificate only says a solver has found is
reckoned on the side: it never makes the proven bound smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from qpopt.errors import InvalidCertificate
from qpopt.problem.instance import Instance
from qpopt.verification.certificate_schema import check_claim, check_header, check_step
from qpopt.verification.enumeration_check import best_of_all
from qpopt.verification.priced_instance import priced_instance
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


class Claim(NamedTuple):
    """A solver has said that no selection of the part is better than a bound; nothing shows it."""

    solver: str
    bound: float


class PartOfProof(NamedTuple):
    """The selections with `included` and otherwise only `free`.

    Parameters
    ----------
    included, free
        The features.
    bound
        No selection is better.
    claimed
        The same if what solvers have said is right.
    with_feature, without_feature
        No selection with, and none without, a feature is better; some features may be missing.
    """

    included: frozenset[int]
    free: frozenset[int]
    bound: float = inf
    claimed: float = inf
    with_feature: Mapping[int, float] = MappingProxyType({})
    without_feature: Mapping[int, float] = MappingProxyType({})

    def at_most(self, value: float) -> PartOfProof:
        """Return the part with a bound that has been proven."""
        return self._replace(bound=min(self.bound, value), claimed=min(self.claimed, value))


class Examination(NamedTuple):
    """What a certificate shows.

    Parameters
    ----------
    aside
        For every step: no selection that it sets aside is better, proven and as solvers say.
    parts
        The parts that ended, in their order: together with what was set aside, all selections.
    solvers
        Whose word it builds on.
    """

    aside: list[tuple[float, float]]
    parts: list[PartOfProof]
    solvers: tuple[str, ...]


class Checked(NamedTuple):
    """What follows from a certificate.

    Parameters
    ----------
    proven
        A bound on Z, shown by what the certificate holds.
    claimed
        The bound that follows if what solvers have said is right as well: never more.
    solvers
        Whose word makes that difference; empty where there is none.
    """

    proven: float
    claimed: float
    solvers: tuple[str, ...]


def check_certificate(instance: Instance, certificate: Certificate) -> float:
    """Recompute the bound that a certificate proves, whatever solvers may have said besides.

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

    Examples
    --------
    >>> import qpopt
    >>> instance = qpopt.generate(12, 6, 5, 2)
    >>> found = qpopt.bound(instance, kind="semidefinite", time_limit=5)
    >>> qpopt.check_certificate(instance, found.certificate) <= found.value + 1e-6
    True
    """
    return checked(instance, certificate).proven


def checked(instance: Instance, certificate: Certificate) -> Checked:
    """Return what a certificate proves and what it claims; all else as for `check_certificate`."""
    aside, parts, solvers = examine(instance, certificate)
    proven = max([-inf, *(one for one, _ in aside), *(part.bound for part in parts)])
    claimed = max([-inf, *(one for _, one in aside), *(part.claimed for part in parts)])
    proven, claimed = (
        max(certificate.objective, in_original_unit(instance, certificate, value))
        for value in (proven, claimed)
    )
    return Checked(proven, claimed, solvers if claimed < proven else ())


def examine(instance: Instance, certificate: Certificate) -> Examination:
    """Go through a certificate; parameters and errors are those of `check_certificate`.

    Bounds are in the unit of the certificate.
    """
    check_header(certificate)
    if certificate.fingerprint != instance.fingerprint:
        raise InvalidCertificate("The certificate is for another instance.")
    instance = priced_instance(worked_on(instance, certificate), certificate)
    aside: list[tuple[float, float]] = []
    open_, ended, solvers = [whole(instance)], [], []
    for number, item in enumerate(certificate.steps):
        if not open_:
            raise InvalidCertificate(f"Step {number} is about nothing: all parts have ended.")
        part = open_.pop()
        if isinstance(item, End):
            ended.append(_ended(instance, part, item))
        elif isinstance(item, Split):
            open_ += halves(part, item, number)
        elif isinstance(item, Claim):
            check_claim(item)
            solvers.append(item.solver)
            open_.append(part._replace(claimed=min(part.claimed, item.bound)))
        else:
            found, rest = narrowed(instance, part, item, number)
            aside.append(found)
            open_.append(rest)
    ended += [_ended(instance, part, End(enumerated=False)) for part in reversed(open_)]
    return Examination(aside, ended, tuple(dict.fromkeys(solvers)))


def whole(instance: Instance) -> PartOfProof:
    """Return all selections, of which nothing is proven."""
    included = frozenset(instance.included)
    free = frozenset(range(instance.n_features)) - included - set(instance.excluded)
    return PartOfProof(included, free)


def holds_selections(instance: Instance, part: PartOfProof) -> bool:
    """Tell whether there is any selection in a part."""
    return 0 <= instance.n_select - len(part.included) <= len(part.free)


def _ended(instance: Instance, part: PartOfProof, end: End) -> PartOfProof:
    """Return a part that ends with its bound."""
    if type(end.enumerated) is not bool:
        raise InvalidCertificate("An end of a part does not say how.")
    if not holds_selections(instance, part):
        return part.at_most(-inf)
    if not end.enumerated:
        return part
    return part.at_most(best_of_all(instance, part.included, part.free))


def halves(part: PartOfProof, split: Split, number: int) -> list[PartOfProof]:
    """Return the parts without and with a feature: the last one comes first."""
    d = split.feature
    if type(d) is not int or d not in part.free:
        raise InvalidCertificate(f"Step {number} splits by a feature that is not free.")
    rest = part._replace(free=part.free - {d})
    chosen = rest._replace(included=part.included | {d})
    return [
        rest.at_most(part.without_feature.get(d, inf)),
        chosen.at_most(part.with_feature.get(d, inf)),
    ]


def narrowed(
    instance: Instance, part: PartOfProof, step: Any, number: int
) -> tuple[tuple[float, float], PartOfProof]:
    """Return the bounds of what a step sets aside, and the part that it leaves.

    Raises
    ------
    InvalidCertificate
        If the step, the one of this number, is not about this part, or is none.
    """
    check_step(instance, step)
    if not holds_selections(instance, part):
        raise InvalidCertificate(f"Step {number} is about a part without selections.")
    included, free = part.included, part.free
    if len(included) == instance.n_select:
        raise InvalidCertificate(f"Step {number} is about a single selection.")
    if set(step.included.tolist()) != included:
        raise InvalidCertificate(f"Step {number} decides features without a reason.")
    if set(step.free.tolist()) != free:
        raise InvalidCertificate(f"Step {number} leaves out features without a reason.")
    found = step_bounds(instance, step)
    part = part.at_most(found.value)
    removed, forced = set(step.removed.tolist()), set(step.forced.tolist())
    if not removed | forced <= set(found.with_feature):
        raise InvalidCertificate(f"Step {number} decides a feature that is not free.")
    away = [found.with_feature[d] for d in removed] + [found.without_feature[d] for d in forced]
    aside = max(away, default=-inf)
    rest = PartOfProof(
        included | forced, free - removed - forced, part.bound, part.claimed,
        _smaller(part.with_feature, found.with_feature),
        _smaller(part.without_feature, found.without_feature),
    )  # fmt: skip
    if removed & forced:
        # With such a feature or without it: all is set aside.
        rest = PartOfProof(frozenset(), frozenset(), part.bound, part.claimed)
    return (min(part.bound, aside), min(part.claimed, aside)), rest


def _smaller(known: Mapping[int, float], found: Mapping[int, float]) -> Mapping[int, float]:
    """Return the better of two bounds for every feature."""
    return {d: min(value, known.get(d, inf)) for d, value in found.items()}
