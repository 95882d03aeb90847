import os
import threading
import time

import psutil
import pytest

from benchmarks.runs.execute import environment


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_gone(pids):
    for _ in range(100):
        if not any(map(is_running, pids)):
            return True
        time.sleep(0.05)
    return False


def test_a_run_brings_back_what_the_child_left(stub, make_spec, toy_best):
    outcome = stub(make_spec(threads=3))
    assert outcome.ended == "exit"
    assert outcome.claims["versions"]["threads"] == "3"
    assert '"format": "qpopt-solution"' in outcome.solution
    assert outcome.trace == [[0.0, toy_best.objective, None]]  # without the torn second line
    assert 0 < outcome.wall_seconds < 60
    assert outcome.peak_memory > 20
    assert outcome.machine["host"]


def test_a_crash_is_an_outcome_with_its_last_words(stub, make_spec):
    outcome = stub(make_spec(solver="crash"))
    assert (outcome.ended, outcome.claims, outcome.solution) == ("crash", {}, "")
    assert "something broke" in outcome.log


def test_a_hanging_run_is_ended_with_its_children(stub, make_spec, tmp_path, monkeypatch):
    pids = tmp_path / "pids"
    monkeypatch.setenv("STUB_PIDS", str(pids))
    outcome = stub(make_spec(solver="hang", time_limit=2.0), grace=0.5)
    assert outcome.ended == "timeout"
    assert outcome.wall_seconds >= 2.5
    assert wait_until_gone([int(pid) for pid in pids.read_text().split()])


def test_a_run_that_takes_too_much_memory_is_ended(stub, make_spec):
    outcome = stub(make_spec(solver="greedy", memory_limit=250.0))
    assert outcome.ended == "memory"
    assert outcome.peak_memory > 250


def test_the_peak_counts_the_run_and_not_its_parent(stub, make_spec):
    block = bytearray(600_000_000)
    block[::4096] = b"x" * len(block[::4096])
    assert stub(make_spec()).peak_memory < 500


def test_stopping_ends_the_run(stub, make_spec, tmp_path, monkeypatch):
    pids = tmp_path / "pids"
    monkeypatch.setenv("STUB_PIDS", str(pids))
    stop = threading.Event()
    threading.Timer(3.0, stop.set).start()
    outcome = stub(make_spec(solver="hang", time_limit=500.0), stop=stop)
    assert outcome.ended == "stopped"
    assert outcome.wall_seconds < 100


@pytest.mark.parametrize("threads", [1, 2])
def test_all_libraries_are_told_the_number_of_threads(threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    variables = environment(threads)
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        assert variables[f"{name}_NUM_THREADS"] == str(threads)
    assert variables["PATH"] == os.environ["PATH"]
