from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance, Solution, bound, verify
from tests.strategies import instances


def codes(instance: Instance, solution: Solution) -> set[str]:
    return {violation.code for violation in verify(instance, solution).violations}


def test_a_correct_solution_passes(toy, toy_best):
    outcome = verify(toy, toy_best)
    assert outcome.ok
    assert bool(outcome)
    assert outcome.objective == pytest.approx(12.9)
    assert "no violation" in str(outcome)


@given(instances(), st.data())
def test_agrees_with_the_objective_module(instance, data):
    free = [d for d in range(instance.n_features) if d not in instance.exclude]
    order = sorted(free, key=lambda d: d not in instance.include)
    selection = sorted(order[: instance.n_select])
    rows = data.draw(
        st.lists(
            st.permutations(range(instance.n_select)),
            min_size=instance.n_classes,
            max_size=instance.n_classes,
        )
    )
    assignment = np.zeros((instance.n_classes, instance.n_select), dtype=bool)
    for c, row in enumerate(rows):
        assignment[c, row[: instance.n_per_class]] = True
    total = instance.objective(selection, assignment).total
    solution = Solution(selection, assignment, total, fingerprint=instance.fingerprint)
    outcome = verify(instance, solution)
    distinct = len({tuple(row) for row in assignment.tolist()}) == instance.n_classes
    assert outcome.ok == distinct
    assert outcome.objective == pytest.approx(total, abs=1e-9)


def test_wrong_objective(toy, toy_best):
    assert codes(toy, replace(toy_best, objective=12.8)) == {"objective"}
    barely = 2e-5  # the terms of the toy add up to about 13, so this is beyond 1e-6 of them
    assert codes(toy, replace(toy_best, objective=12.9 + barely)) == {"objective"}
    assert verify(toy, replace(toy_best, objective=12.9 + barely, bound=12.9), tolerance=1e-5).ok


def test_duplicate_classes(toy, toy_best):
    same = [[True, False, True]] * 2
    value = toy.objective([1, 2, 3], same).total
    changed = replace(toy_best, assignment=same, objective=value, status="feasible")
    assert codes(toy, changed) == {"duplicate"}


def test_wrong_number_of_features_for_a_class(toy, toy_best):
    more = [[True, True, True], [True, True, False]]
    value = toy.objective([1, 2, 3], more).total
    changed = replace(toy_best, assignment=more, objective=value, bound=value)
    assert codes(toy, changed) == {"assignment"}


def test_too_many_features(toy):
    assignment = [[True, True, False, False], [False, True, True, False]]
    value = toy.objective([0, 1, 2, 3], assignment).total
    solution = Solution([0, 1, 2, 3], assignment, value, fingerprint=toy.fingerprint)
    assert codes(toy, solution) == {"selection"}


def test_unknown_feature(toy, toy_best):
    outcome = verify(toy, replace(toy_best, selection=[1, 2, 7]))
    assert {violation.code for violation in outcome.violations} == {"selection"}
    assert outcome.objective is None


def test_missing_class(toy, toy_best):
    outcome = verify(toy, replace(toy_best, assignment=toy_best.assignment[:1]))
    assert {violation.code for violation in outcome.violations} == {"assignment"}
    assert outcome.objective is None


def test_bound_below_the_objective(toy, toy_best):
    assert codes(toy, replace(toy_best, bound=12.8)) == {"bound"}


def test_a_bound_without_certificate_is_only_claimed(toy, toy_best):
    invented = replace(toy_best, bound=12.95, status="feasible")
    outcome = verify(toy, invented)
    assert outcome.ok
    assert (outcome.bound, outcome.bound_proven) == (12.95, False)
    assert str(outcome) == (
        "verified: no violation; the bound 12.95 is only claimed: no certificate proves it"
    )
    outcome = verify(toy, replace(invented, bound=None))
    assert (outcome.bound, outcome.bound_proven) == (None, False)
    assert str(outcome) == "verified: no violation"


def test_a_certificate_proves_the_bound(toy, toy_best):
    proof = bound(toy, kind="semidefinite", time_limit=5, objective=12.9).certificate
    honest = replace(toy_best, bound=proof.bound, status="feasible")
    outcome = verify(toy, honest, certificate=proof)
    assert outcome.ok
    assert outcome.bound_proven
    assert str(outcome).endswith(f"the bound {proof.bound:.10g} is proven by the certificate")
    for wrong in (replace(honest, objective=12.8), replace(honest, bound=12.9 - 1e-3)):
        outcome = verify(toy, wrong, certificate=proof)
        assert not outcome.ok
        assert not outcome.bound_proven


def test_optimal_with_a_gap(toy, toy_best):
    assert codes(toy, replace(toy_best, bound=13.2)) == {"status"}
    assert verify(toy, replace(toy_best, bound=13.2, status="feasible")).ok


@pytest.mark.parametrize(
    "trace", [[(1, 13.0, None)], [(1, None, 12.8)], [(2, 1.0, None), (1, 2.0, None)]]
)
def test_impossible_trace(toy, toy_best, trace):
    assert codes(toy, replace(toy_best, trace=trace)) == {"trace"}


def test_small_numbers_are_judged_by_their_size():
    tiny = Instance([[4e-9, 3e-9]], np.zeros((2, 2)), [0.0, 0.0], 1, 1)
    right = Solution([0], [[1]], 4e-9, fingerprint=tiny.fingerprint)
    assert verify(tiny, right).ok
    assert codes(tiny, replace(right, objective=5e-9)) == {"objective"}


def test_wrong_fingerprint(toy, toy_best):
    assert codes(toy, replace(toy_best, fingerprint="0" * 64)) == {"fingerprint"}


def test_included_and_excluded_features(toy, toy_best):
    wants_zero = Instance(toy.A, toy.R, toy.b, 3, 2, include=[0])
    shuns_one = Instance(toy.A, toy.R, toy.b, 3, 2, exclude=[1])
    for instance, code in ((wants_zero, "include"), (shuns_one, "exclude")):
        assert codes(instance, replace(toy_best, fingerprint=instance.fingerprint)) == {code}


def test_what_is_excluded_is_no_measure_of_rounding():
    """Solvers leave it out: beside it, too much or too little would pass for rounding."""
    R = np.zeros((3, 3))
    R[0, 1] = R[1, 0] = 20.0
    beside_redundancy = Instance([[0.0, 0.0, 1.0]], R, np.zeros(3), 1, 1, exclude=[2])
    beside_similarity = Instance([[1.0, 1.0, 1e6]], R, np.zeros(3), 1, 1, exclude=[2])
    for instance, objective, rounding, gap in (
        (beside_redundancy, 0.0, 3e-5, 1e-2),
        (beside_similarity, 1.0, 1e-6, 0.5),
    ):
        solution = Solution(
            [0], [[1]], objective, bound=objective + rounding, status="optimal",
            fingerprint=instance.fingerprint,
        )  # fmt: skip
        assert verify(instance, solution).ok
        assert codes(instance, replace(solution, bound=objective + gap)) == {"status"}


def test_status_that_contradicts_the_rest(toy, toy_best):
    print_ = toy.fingerprint
    assert codes(toy, replace(toy_best, bound=None)) == {"status"}
    assert codes(toy, replace(toy_best, status="no_solution")) == {"status"}
    nothing = Solution(None, None, None, status="infeasible", fingerprint=print_)
    assert codes(toy, nothing) == {"status"}
    empty = Solution(None, None, None, status="feasible", fingerprint=print_)
    assert codes(toy, empty) == {"status"}
    assert verify(toy, replace(empty, status="no_solution")).ok


def test_every_violation_is_listed(toy, toy_best):
    bad = replace(toy_best, objective=1.0, fingerprint="", assignment=[[1, 1, 1], [1, 1, 1]])
    outcome = verify(toy, bad)
    assert [v.code for v in outcome.violations] == [
        "fingerprint",
        "assignment",
        "assignment",
        "duplicate",
        "objective",
        "bound",
    ]
    assert len(str(outcome).splitlines()) == 6
