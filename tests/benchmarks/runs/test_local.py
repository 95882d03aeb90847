import threading
import time

import pytest

from benchmarks.runs.execute import Outcome
from benchmarks.runs.local import expected_seconds, run_here


def test_every_run_comes_back_once_with_its_outcome(make_spec):
    specs = [make_spec(seed=seed) for seed in range(7)]

    def carry_out(spec, stop):
        return Outcome("exit", float(spec.seed), 0.0)

    outcomes = list(run_here(specs, carry_out, jobs=3))
    assert sorted(outcome.wall_seconds for _, outcome in outcomes) == [float(i) for i in range(7)]
    assert all(spec.seed == outcome.wall_seconds for spec, outcome in outcomes)


def test_never_more_runs_at_a_time_than_jobs(make_spec):
    lock, running, most = threading.Lock(), [], []

    def carry_out(spec, stop):
        with lock:
            running.append(spec)
            most.append(len(running))
        time.sleep(0.02)
        with lock:
            running.remove(spec)
        return Outcome("exit", 0.0, 0.0)

    list(run_here([make_spec(seed=seed) for seed in range(8)], carry_out, jobs=2))
    assert max(most) <= 2


def test_leaving_early_stops_what_is_under_way_and_starts_nothing_more(make_spec):
    started, stopped = [], []

    def carry_out(spec, stop):
        started.append(spec.seed)
        if spec.seed == 0:
            return Outcome("exit", 0.0, 0.0)
        stopped.append(stop.wait(30))
        return Outcome("stopped", 0.0, 0.0)

    outcomes = run_here([make_spec(seed=seed) for seed in range(50)], carry_out, jobs=2)
    next(outcomes)
    outcomes.close()
    assert all(stopped)
    assert len(started) < 10


def test_expected_seconds_follow_the_configuration(make_spec):
    fast, slow = (make_spec(solver=solver) for solver in ("fast", "slow"))
    finished = [(fast, 1.0), (fast, 3.0), (slow, 20.0)]
    assert expected_seconds([fast, slow], finished, jobs=1) == pytest.approx(22.0)
    assert expected_seconds([fast, slow], finished, jobs=2) == pytest.approx(11.0)
    other = make_spec(solver="other")
    assert expected_seconds([other], finished, jobs=1) == pytest.approx(8.0)
    assert expected_seconds([other], [], jobs=1) == other.time_limit
    assert expected_seconds([], finished, jobs=1) == 0.0
