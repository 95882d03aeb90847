from __future__ import annotations

import numpy as np
import pytest

from qpopt import Status, TracePoint
from qpopt.control.incumbent import Incumbent
from qpopt.control.settings import Settings


@pytest.fixture
def incumbent(toy):
    return Incumbent(toy, Settings(gap=0.01), method="test")


def test_a_selection_gets_its_best_assignment(incumbent):
    assert incumbent.offer_selection(np.array([0.0, 0.999999, 1.0, 1.0]))
    assert incumbent.objective == pytest.approx(12.9)
    assert not incumbent.offer_selection(np.array([1.0, 0.0, 1.0, 1.0]))
    assert incumbent.solution().selection.tolist() == [1, 2, 3]


@pytest.mark.parametrize("s", [[1, 1, 0, 0], [1, 1, 1, 1], [0.5, 0.5, 1, 1]])
def test_what_is_no_selection_is_passed_over(incumbent, s):
    assert not incumbent.offer_selection(np.array(s, dtype=float))
    assert incumbent.solution().status is Status.NO_SOLUTION


def test_included_and_excluded_features_are_respected(toy):
    fixed = type(toy)(toy.A, toy.R, toy.b, 3, 2, include=[0], exclude=[3])
    incumbent = Incumbent(fixed, Settings(), method="test")
    assert not incumbent.offer_selection(np.array([0.0, 1.0, 1.0, 1.0]))
    assert not incumbent.offer_selection(np.array([1.0, 0.0, 1.0, 1.0]))
    assert incumbent.offer_selection(np.array([1.0, 1.0, 1.0, 0.0]))


def test_the_status_follows_from_bound_and_gap(incumbent):
    incumbent.lower_bound(20.0)
    assert incumbent.solution().bound == 20.0
    incumbent.offer_selection(np.array([0.0, 1.0, 1.0, 1.0]))
    assert incumbent.solution().status is Status.FEASIBLE
    assert not incumbent.proven
    incumbent.lower_bound(12.9 * 1.009)
    assert incumbent.proven
    assert incumbent.solution().status is Status.FEASIBLE
    incumbent.lower_bound(12.9 * 1.00009)
    assert incumbent.solution().status is Status.OPTIMAL


def test_a_bound_is_never_reported_below_the_objective(incumbent):
    incumbent.offer_selection(np.array([0.0, 1.0, 1.0, 1.0]))
    incumbent.lower_bound(12.9 - 1e-9)
    solution = incumbent.solution()
    assert solution.bound == solution.objective


def test_bounds_that_say_nothing_are_ignored(incumbent):
    for bound in (None, float("inf"), float("nan")):
        incumbent.lower_bound(bound)
    assert incumbent.solution().bound is None


def test_ctrl_c_outside_a_solver_leaves_what_is_known(incumbent):
    def work():
        incumbent.offer_selection(np.array([0.0, 1.0, 1.0, 1.0]))
        raise KeyboardInterrupt

    incumbent.run(work)
    assert incumbent.solution().status is Status.INTERRUPTED
    assert incumbent.solution().found


def test_what_a_search_finds_on_the_way_is_on_record(incumbent):
    incumbent.hear(TracePoint(0.0, 12.0, None))
    incumbent.offer_selection(np.array([0.0, 1.0, 1.0, 1.0]))
    incumbent.hear(TracePoint(0.0, 12.5, None))
    objectives = [point.objective for point in incumbent.solution().trace]
    assert objectives == [12.0, pytest.approx(12.9)]
