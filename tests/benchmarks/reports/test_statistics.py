from math import inf, sqrt

import pytest

from benchmarks.reports.statistics import (
    by_config,
    charged_seconds,
    is_proven,
    is_solved,
    mean_gap_over_time,
    performance_profile,
    profile_seconds,
    run_seconds,
    shifted_geometric_mean,
    summaries,
    with_common_best,
)
from benchmarks.runs.rows import RowFile


@pytest.fixture
def rows(hand_made):
    return RowFile(hand_made).read()


def cell(rows, instance, config):
    (row,) = (row for row in rows if (row.instance, row.config) == (instance, config))
    return row


def test_shifted_geometric_mean():
    assert shifted_geometric_mean([10.0, 30.0]) == pytest.approx(sqrt(20 * 40) - 10)
    assert shifted_geometric_mean([4.0, 9.0], shift=0.0) == pytest.approx(6.0)
    assert shifted_geometric_mean([7.0]) == pytest.approx(7.0)
    with pytest.raises(ValueError, match="nothing"):
        shifted_geometric_mean([])


def test_all_runs_of_an_instance_are_compared_with_one_best(make_row):
    rows = [
        make_row(key="old", best_known=80.0, objective=80.0, gap_to_best=0.0),
        make_row(key="new", best_known=100.0, objective=90.0, gap_to_best=0.1),
        make_row(key="none", best_known=None, objective=None, gap_to_best=None),
    ]
    found = with_common_best(rows)
    assert [row.best_known for row in found] == [100.0] * 3
    assert [row.gap_to_best for row in found] == [pytest.approx(0.2), pytest.approx(0.1), None]


def test_solved_needs_proof_and_verification(rows):
    solved = {(row.instance, row.config) for row in rows if is_solved(row)}
    assert solved == {
        ("one", "compact + highs"),
        ("two", "compact + highs"),
        ("one", "compact + scip"),
    }


def test_seconds_and_what_is_charged(rows):
    fast = cell(rows, "one", "compact + highs")
    assert (run_seconds(fast), charged_seconds(fast)) == (10.0, 10.0)
    wrong = cell(rows, "two", "compact + scip")
    assert (run_seconds(wrong), charged_seconds(wrong)) == (3.0, 100.0)
    refused = cell(rows, "three", "compact + scip")
    assert (run_seconds(refused), charged_seconds(refused)) == (0.0, 100.0)


def test_summaries_of_the_hand_made_rows(rows):
    highs, scip, search = summaries(rows)
    assert highs[:6] == ("compact + highs", 3, 3, 2, 0, 0)
    assert highs.seconds == pytest.approx((20 * 40 * 110) ** (1 / 3) - 10)
    assert highs.gap == pytest.approx(0.1 / 3)
    assert highs.primal_integral == pytest.approx(12.0)
    assert highs.memory == 500.0
    assert scip[:6] == ("compact + scip", 3, 1, 1, 1, 1)
    assert scip.seconds == pytest.approx((15 * 110 * 110) ** (1 / 3) - 10)
    assert scip.gap == 0.0
    assert search[:6] == ("search", 3, 2, 0, 0, 1)
    assert search.seconds == pytest.approx(100.0)
    assert search.gap == pytest.approx(0.005)
    assert search.primal_integral == pytest.approx(34.0)


def test_rows_by_configuration(rows):
    groups = by_config(rows)
    assert list(groups) == ["compact + highs", "compact + scip", "search"]
    assert {len(group) for group in groups.values()} == {3}


def test_profile_of_the_hand_made_rows(rows):
    profiles = performance_profile(profile_seconds(rows))
    # One: 10 s against 5 s; two: only HiGHS; three: nobody.
    assert profiles["compact + highs"] == [
        (1.0, pytest.approx(1 / 3)),
        (2.0, pytest.approx(2 / 3)),
    ]
    assert profiles["compact + scip"] == [(1.0, pytest.approx(1 / 3))]
    assert profiles["search"] == [(1.0, 0.0)]


def test_profile_counts_problems_that_a_configuration_never_saw():
    seconds = {"a": {"p": 1.0, "q": 4.0}, "b": {"p": 3.0}, "c": {"q": inf}}
    assert performance_profile(seconds) == {
        "a": [(1.0, 1.0)],
        "b": [(1.0, 0.0), (3.0, 0.5)],
        "c": [(1.0, 0.0)],
    }


def test_mean_gap_over_time():
    traces = [[(1.0, 50.0), (3.0, 100.0)], []]
    gaps = mean_gap_over_time(traces, [100.0, 100.0], [0.5, 1.0, 2.0, 3.0])
    assert gaps == pytest.approx([1.0, 0.75, 0.75, 0.5])


def test_a_bound_is_proven_where_its_certificate_shows_as_much(make_row):
    rows = [
        make_row(seed=0, bound=100.0, bound_verified=100.0),
        make_row(seed=1, bound=100.0, bound_verified=101.0),
        make_row(seed=2, bound=100.0, bound_verified=None),
        make_row(seed=3, bound=None, bound_verified=None),
    ]
    assert [is_proven(row) for row in rows] == [True, False, False, False]
    (summary,) = summaries(rows)
    assert (summary.proven, summary.bounds) == (1, 3)
