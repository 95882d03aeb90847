"""A bound and a certificate for a solution that is there already."""

from __future__ import annotations

from dataclasses import replace

import pytest

import qpopt
from qpopt import InvalidSolution, Status, certify, solve, verify


def test_a_solution_gets_a_bound_and_a_certificate():
    instance = qpopt.generate(40, 6, 8, 3, seed=5)
    start = solve(instance, method="search", time_limit=0.3)
    certified, found = certify(instance, start, time_limit=3, kind="semidefinite")
    assert certified.objective == start.objective
    assert certified.bound == found.value <= 1.02 * start.objective
    assert verify(instance, certified, certificate=found.certificate)


def test_the_toy_is_proven_optimal(toy, toy_best):
    certified, _ = certify(toy, replace(toy_best, bound=None, status="feasible"), time_limit=60)
    assert certified.status is Status.OPTIMAL
    assert certified.bound == pytest.approx(12.9, rel=1e-9)


def test_a_solution_of_something_else_is_refused(toy, toy_best):
    with pytest.raises(InvalidSolution, match="cannot be certified"):
        certify(qpopt.generate(40, 6, 8, 3), toy_best)
    nothing = qpopt.Solution(None, None, None, status=Status.NO_SOLUTION)
    with pytest.raises(InvalidSolution, match="cannot be certified"):
        certify(toy, nothing)


def test_verify_reports_what_a_certificate_does_not_prove():
    instance = qpopt.generate(40, 6, 8, 3, seed=5)
    start = solve(instance, method="search", time_limit=0.3)
    certified, found = certify(instance, start, time_limit=1, kind="semidefinite")
    nothing = replace(found.certificate, steps=())
    codes = [v.code for v in verify(instance, certified, certificate=nothing).violations]
    assert codes == ["certificate"]
    boast = replace(found.certificate, objective=certified.objective + 1.0)
    codes = [v.code for v in verify(instance, certified, certificate=boast).violations]
    assert "certificate" in codes
