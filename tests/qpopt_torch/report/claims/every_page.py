"""All pages of a report, one after the other."""

from __future__ import annotations

from tests.qpopt_torch.report.claims.checks import Claims
from tests.qpopt_torch.report.claims.class_map import class_map
from tests.qpopt_torch.report.claims.classes import class_list, one_class
from tests.qpopt_torch.report.claims.contrasts import contrast
from tests.qpopt_torch.report.claims.decisions import decision, decision_list
from tests.qpopt_torch.report.claims.features import feature_list, one_feature
from tests.qpopt_torch.report.claims.overview import overview
from tests.qpopt_torch.report.claims.reading import contrasts


def every_claim(page, truth):
    """Check every claim on every page, and return the claims."""
    claims = Claims(page, truth)
    overview(claims)
    class_list(claims)
    for c in range(len(claims.classes)):
        one_class(claims, c)
    feature_list(claims)
    for j in range(len(claims.features)):
        one_feature(claims, j)
    for a, b in contrasts(claims.data):
        contrast(claims, a, b)
    decision_list(claims)
    for kind in ("wrong", "right"):
        for place in range(len(claims.data[kind])):
            decision(claims, kind, place)
    class_map(claims)
    return claims
