from dataclasses import replace

import pytest

from benchmarks.runs.judge import judge


@pytest.fixture
def row_of(library, stub, make_spec, toy):
    """Carry out a run of the stub and judge it."""

    def row(act, **changes):
        spec = make_spec(solver=act, **changes)
        return judge(spec, library.entry("toy"), toy, stub(spec))

    return row


def test_a_good_run_is_verified(row_of, make_spec):
    row = row_of("fine")
    assert (row.status, row.claimed_status, row.verified) == ("optimal", "optimal", True)
    assert row.objective == pytest.approx(12.9)
    assert (row.gap, row.gap_to_best) == (pytest.approx(0.0), pytest.approx(0.0))
    assert (row.load_seconds, row.build_seconds, row.solve_seconds) == (0.25, 0.5, 1.5)
    assert (row.versions, row.qpopt_version) == ("qpopt 9.9 threads 1", "9.9")
    assert row.primal_integral == 0.0
    assert row.key == make_spec(solver="fine").key


def test_claims_are_recorded_beside_what_is_true(row_of):
    row = row_of("boast")
    assert (row.status, row.claimed_status, row.verified) == ("wrong", "optimal", False)
    assert row.claimed_objective == pytest.approx(13.9)
    assert (row.objective, row.bound, row.gap) == (None, None, None)
    assert "objective is said to be" in row.message
    assert row.primal_integral == row.time_limit


def test_a_bound_below_a_known_solution_is_wrong(row_of):
    row = row_of("lowbound")
    assert (row.status, row.verified) == ("wrong", False)
    assert "is no bound" in row.message


def test_a_bound_is_recomputed_from_its_certificate(row_of, toy):
    row = row_of("prove", certified=True)
    assert row.bound_verified == pytest.approx(row.bound)
    # Brute force knows the optimum: no bound may be below it.
    assert row.bound_verified >= 12.9 - 1e-9
    assert row_of("fine").bound_verified is None


def test_what_is_no_certificate_proves_nothing(row_of):
    row = row_of("forge", certified=True)
    assert (row.status, row.verified, row.bound_verified) == ("optimal", True, None)
    assert "proves nothing" in row.message


@pytest.mark.parametrize(
    ("act", "status", "message"),
    [
        ("crash", "crash", "something broke"),
        ("silent", "crash", "without leaving a solution"),
        ("torn", "crash", "cannot be read"),
        ("refuse", "refused", "too large for the licence"),
    ],
)
def test_every_failure_becomes_a_row(row_of, act, status, message):
    row = row_of(act)
    assert (row.status, row.verified, row.objective) == (status, None, None)
    assert message in row.message


def test_optimal_within_a_larger_gap_than_asked_for_is_only_feasible(library, stub, make_spec, toy):
    spec = make_spec(gap=0.0)
    outcome = stub(spec)
    loose = outcome.solution.replace('"bound": 12.9', '"bound": 12.901')
    assert loose != outcome.solution
    row = judge(spec, library.entry("toy"), toy, replace(outcome, solution=loose))
    assert (row.status, row.claimed_status, row.verified) == ("feasible", "optimal", True)
    assert row.gap == pytest.approx(0.001 / 12.9)
