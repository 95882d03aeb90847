"""All pages of a report, one after the other."""

from __future__ import annotations

from tests.qpopt_torch.report.claims.checks import Claims
from tests.qpopt_torch.report.claims.class_map import class_map
from tests.qpopt_torch.report.claims.classes import class_list, one_class
from tests.qpopt_torch.report.claims.contrasts import contrast
from tests.qpopt_torch.report.claims.decisions import decision, decision_list
from tests.qpopt_torch.report.claims.features import feature_list, one_feature
from tests.qpopt_torch.report.claims.overview import overview
from tests.qpopt_torch.report.claims.reading import contrasts, decisions


def every_claim(page, truth, most=None):
    """Check every claim on every page, and return the claims.

    Of contrasts and of each kind of decisions, at most so many are looked at.
    """
    claims = Claims(page, truth, most)
    check(claims, overview)
    check(claims, class_list)
    for c in range(len(claims.classes)):
        check(claims, one_class, c)
    check(claims, feature_list)
    for j in range(len(claims.features)):
        check(claims, one_feature, j)
    for a, b in contrasts(claims.data, most):
        check(claims, contrast, a, b)
    check(claims, decision_list)
    for kind, place in decisions(claims.data, most):
        check(claims, decision, kind, place)
    check(claims, class_map)
    return claims


def check(claims, page, *which):
    """Check a page; one that is not built as it should be is not understood."""
    try:
        page(claims, *which)
    except (KeyError, IndexError, ValueError, StopIteration) as error:
        claims.say(False, f"not understood: {type(error).__name__} {error}")
