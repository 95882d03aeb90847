from math import inf, nan

import numpy as np
import pytest

import qpopt
from qpopt import InvalidArgument
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Clock, Limits


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_limit": -1.0},
        {"time_limit": nan},
        {"time_limit": inf},
        {"time_limit": "long"},
        {"gap": -0.1},
        {"seed": 1.5},
        {"seed": -1},
        {"threads": 0},
        {"threads": 1025},
        {"patience": -1.0},
        {"patience": nan},
    ],
)
def test_limits_out_of_range_are_refused(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidArgument, match=f"^{name} must be .*, not {value!r}"):
        Limits(**wrong)


def test_a_clock_without_a_limit_never_ends():
    clock = Clock(Limits())
    assert clock.remaining is None
    assert not clock.over
    assert clock.share(0.5) == Limits()
    assert clock.share(0.5, most=3.0) == Limits(3.0)


def test_a_share_of_what_is_left_has_the_other_limits_too():
    clock = Clock(Limits(100.0, gap=0.5, seed=3, threads=2))
    share = clock.share(0.1)
    assert 9.0 < share.time_limit <= 10.0
    assert (share.gap, share.seed, share.threads) == (0.5, 3, 2)
    assert clock.share(0.1, most=4.0).time_limit == 4.0


def test_a_limit_of_nothing_is_over_at_once():
    clock = Clock(Limits(0.0))
    assert clock.over
    assert clock.remaining == 0.0


@pytest.fixture
def time(monkeypatch):
    """A clock that a test sets itself."""
    now = [0.0]
    monkeypatch.setattr("qpopt.control.limits.perf_counter", lambda: now[0])
    return now


def test_patience_begins_with_the_first_bound_and_anew_with_every_change(time):
    instance = qpopt.generate(12, 6, 5, 2)
    incumbent = Incumbent(instance, Limits(time_limit=1000.0, patience=20.0))
    solution = qpopt.solve(instance, time_limit=10)
    time[0] = 100.0
    incumbent.judge(instance_selection(instance))
    assert not incumbent.clock.over  # there is no bound
    incumbent.tighten(2 * solution.objective)
    time[0] = 119.0
    assert incumbent.clock.remaining == 1000.0 - 119.0
    incumbent.judge(solution.selection)
    time[0] = 138.0
    incumbent.tighten(1.9 * solution.objective)  # by 10 % of the objective
    time[0] = 157.0
    incumbent.tighten(1.8999 * solution.objective)  # by too little
    assert not incumbent.clock.over
    time[0] = 158.0
    assert incumbent.clock.over
    assert incumbent.clock.remaining == 0.0
    incumbent.tighten(1.5 * solution.objective)  # too late
    assert incumbent.clock.over
    found = incumbent.solution()
    assert found.details["stopped"] == "patience"
    assert found.bound == pytest.approx(1.5 * solution.objective)


def test_without_patience_only_the_time_limit_counts(time):
    incumbent = Incumbent(qpopt.generate(12, 6, 5, 2), Limits(time_limit=1000.0))
    incumbent.judge(instance_selection(incumbent.instance))
    incumbent.tighten(1e6)
    time[0] = 999.0
    assert not incumbent.clock.over


def instance_selection(instance):
    return np.arange(instance.n_select)
