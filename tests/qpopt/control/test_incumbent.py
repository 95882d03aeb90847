from __future__ import annotations

import numpy as np
import pytest

from qpopt import SolverFailure, Status
from qpopt.control.events import Event, Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits


@pytest.fixture
def incumbent(toy):
    return Incumbent(toy, Limits(gap=0.01), method="test")


def test_a_selection_gets_its_best_assignment(incumbent):
    incumbent.offer_values(np.array([0.0, 0.999999, 1.0, 1.0]))
    assert incumbent.objective == pytest.approx(12.9)
    incumbent.offer_values(np.array([1.0, 0.0, 1.0, 1.0]))
    assert incumbent.solution().selection.tolist() == [1, 2, 3]


@pytest.mark.parametrize("s", [[1, 1, 0, 0], [1, 1, 1, 1], [0.5, 0.5, 1, 1]])
def test_what_is_no_selection_is_passed_over(incumbent, s):
    incumbent.offer_values(np.array(s, dtype=float))
    assert incumbent.solution().status is Status.NO_SOLUTION


def test_included_and_excluded_features_are_respected(toy):
    fixed = type(toy)(toy.A, toy.R, toy.b, 3, 2, include=[0], exclude=[3])
    incumbent = Incumbent(fixed, Limits(), method="test")
    incumbent.offer_values(np.array([0.0, 1.0, 1.0, 1.0]))
    incumbent.offer_values(np.array([1.0, 0.0, 1.0, 1.0]))
    assert incumbent.best is None
    incumbent.offer_values(np.array([1.0, 1.0, 1.0, 0.0]))
    assert incumbent.best.selection.tolist() == [0, 1, 2]


def test_the_status_follows_from_bound_and_gap(incumbent):
    incumbent.tighten(20.0)
    assert incumbent.solution().bound == 20.0
    incumbent.offer_values(np.array([0.0, 1.0, 1.0, 1.0]))
    assert incumbent.solution().status is Status.FEASIBLE
    assert not incumbent.proven
    incumbent.tighten(12.9 * 1.009)
    assert incumbent.proven
    assert incumbent.solution().status is Status.FEASIBLE
    incumbent.tighten(12.9 * 1.00009)
    assert incumbent.solution().status is Status.OPTIMAL


def test_a_bound_is_never_reported_below_the_objective(incumbent):
    incumbent.offer_values(np.array([0.0, 1.0, 1.0, 1.0]))
    incumbent.tighten(12.9 - 1e-9)
    solution = incumbent.solution()
    assert solution.bound == solution.objective


@pytest.mark.parametrize("bound_first", [True, False])
def test_a_bound_that_a_solution_contradicts_is_not_hidden(incumbent, bound_first):
    best = np.array([0.0, 1.0, 1.0, 1.0])
    if bound_first:
        incumbent.tighten(12.9 - 1e-6)
        with pytest.raises(SolverFailure, match=r"12\.899999.* 12\.9"):
            incumbent.offer_values(best)
    else:
        incumbent.offer_values(best)
        with pytest.raises(SolverFailure, match=r"12\.899999.* 12\.9"):
            incumbent.tighten(12.9 - 1e-6)


def test_bounds_that_say_nothing_are_ignored(incumbent):
    for bound in (None, float("inf"), float("nan")):
        incumbent.tighten(bound)
    assert incumbent.solution().bound is None


def test_ctrl_c_outside_a_solver_leaves_what_is_known(incumbent):
    def work():
        incumbent.offer_values(np.array([0.0, 1.0, 1.0, 1.0]))
        raise KeyboardInterrupt

    incumbent.run(work)
    assert incumbent.solution().status is Status.INTERRUPTED
    assert incumbent.solution().found


def test_events_tell_the_phase_and_what_is_known(toy):
    told: list[Event] = []
    incumbent = Incumbent(toy, Limits(), on_event=told.append)
    incumbent.enter(Phase.SEARCH, "searching")
    incumbent.judge(np.array([3, 1, 2]))
    incumbent.enter(Phase.ROOT)
    incumbent.tighten(20.0)
    assert [event.phase for event in told] == [Phase.SEARCH] * 2 + [Phase.ROOT] * 2
    assert [event.note for event in told] == ["searching", "searching", "", ""]
    assert told[0].point.objective is None
    assert told[1].point.objective == pytest.approx(12.9)
    assert told[-1].point.gap == pytest.approx((20.0 - 12.9) / 12.9)
    assert incumbent.solution().trace == (told[1].point, told[3].point)


def test_a_selection_is_judged_once(toy, monkeypatch):
    incumbent = Incumbent(toy, Limits())
    first = incumbent.judge(np.array([1, 2, 3]))
    monkeypatch.setattr("qpopt.control.incumbent.assign", None)
    assert incumbent.judge(np.array([2, 3, 1])) == first == pytest.approx(12.9)
