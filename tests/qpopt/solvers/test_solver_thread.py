from __future__ import annotations

import _thread
from threading import Event, Timer, current_thread, main_thread

import pytest

from qpopt.errors import InvalidArgument, SolverFailure
from qpopt.solvers.solver_thread import SolverOverrun, SolverThread


def test_the_work_is_done_in_another_thread():
    run = SolverThread(stop=lambda: None)
    assert run.wait_for(current_thread) is not main_thread()
    assert not run.interrupted


def test_ctrl_c_asks_for_a_stop_and_waits_for_the_result():
    stopped = Event()
    run = SolverThread(stopped.set)
    timer = Timer(0.2, _thread.interrupt_main)
    timer.start()
    assert run.wait_for(lambda: stopped.wait(30) and "best so far") == "best so far"
    assert run.interrupted


def test_the_first_error_of_a_callback_stops_the_work_and_is_raised():
    stopped = []
    run = SolverThread(lambda: stopped.append(True))

    def callback(number):
        raise InvalidArgument(f"error {number}")

    guarded = run.guard(callback, "default")
    with pytest.raises(InvalidArgument, match="error 1"):
        run.wait_for(lambda: [guarded(1), guarded(2)])
    assert stopped == [True]


def test_an_error_of_the_solver_becomes_a_failure():
    with pytest.raises(SolverFailure, match="RuntimeError: out of order"):
        SolverThread(lambda: None).wait_for(fail)


def fail():
    raise RuntimeError("out of order")


def test_ctrl_c_twice_leaves_a_deaf_solver_behind():
    release = Event()
    run = SolverThread(lambda: None)
    timers = [Timer(seconds, _thread.interrupt_main) for seconds in (0.2, 0.6)]
    for timer in timers:
        timer.start()
    with pytest.raises(KeyboardInterrupt):
        run.wait_for(lambda: release.wait(30))
    assert run.busy
    release.set()


def test_ctrl_c_while_asking_for_a_stop_leaves_the_solver_behind():
    release = Event()

    def interrupted():
        raise KeyboardInterrupt

    run = SolverThread(interrupted)
    timer = Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run.wait_for(lambda: release.wait(30))
    assert run.busy
    release.set()


def test_patience_ends_and_late_callbacks_are_ignored():
    release, asked, told = Event(), [], []
    run = SolverThread(lambda: asked.append(True))
    late = run.guard(told.append, None)

    def deaf():
        release.wait(30)
        late("too late")
        return "result"

    with pytest.raises(SolverOverrun):
        run.wait_for(deaf, patience=0.2)
    assert run.busy
    assert asked == [True]
    release.set()
    assert run._done.wait(30)
    assert told == []
    assert not run.busy
