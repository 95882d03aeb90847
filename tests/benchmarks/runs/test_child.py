import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from benchmarks.library.library import Library
from benchmarks.runs.execute import execute
from benchmarks.runs.judge import judge
from benchmarks.runs.specs import NO_SOLVER, RunSpec
from qpopt import Solution

TINY = "uniform-12x6"


def real_spec(**changes):
    values = {
        "instance": TINY,
        "fingerprint": Library().entry(TINY).fingerprint,
        "method": "compact",
        "solver": "highs",
        "warm": False,
        "seed": 0,
        "threads": 1,
        "time_limit": 20.0,
        "gap": 1e-4,
        "memory_limit": 4000.0,
    }
    return RunSpec(**{**values, **changes})


def test_a_real_run_leaves_solution_trace_and_times(tmp_path):
    outcome = execute(real_spec())
    assert outcome.ended == "exit", outcome.log
    (tmp_path / "solution.json").write_text(outcome.solution)
    solution = Solution.load(tmp_path / "solution.json")
    assert solution.details["versions"] == outcome.claims["versions"]
    assert solution.details["versions"]["highs"]
    claims = outcome.claims
    assert 0 < claims["build_seconds"] < claims["build_seconds"] + claims["solve_seconds"]
    assert claims["load_seconds"] + claims["solve_seconds"] < outcome.wall_seconds
    assert outcome.trace[-1][1] == solution.objective
    assert [point[0] for point in outcome.trace] == sorted(point[0] for point in outcome.trace)


def test_a_method_without_a_solver_builds_nothing():
    outcome = execute(real_spec(method="search", solver=NO_SOLVER, time_limit=1.0))
    assert outcome.ended == "exit", outcome.log
    assert outcome.claims["build_seconds"] == 0.0
    assert "highs" not in outcome.claims["versions"]


def test_a_certified_run_leaves_a_certificate():
    spec = real_spec(method="projected", solver=NO_SOLVER, certified=True)
    outcome = execute(spec)
    assert outcome.ended == "exit", outcome.log
    row = judge(spec, Library().entry(TINY), Library().instance(TINY), outcome)
    assert row.bound_verified == pytest.approx(row.bound, rel=1e-5)
    assert row.config == "projected, certified"


def test_what_a_solver_refuses_is_told_as_such():
    outcome = execute(real_spec(method="qcqp", solver="highs"))
    assert outcome.ended == "exit"
    assert outcome.claims["error"] == "refused"
    assert "highs" in outcome.claims["message"]
    assert outcome.solution == ""


def test_another_instance_than_the_specified_one_is_an_error():
    outcome = execute(real_spec(fingerprint="0123"))
    assert outcome.claims["error"] == "error"
    assert f"another {TINY}" in outcome.claims["message"]


def test_a_run_ends_with_its_parent(tmp_path):
    """A parent that is killed cannot end its runs; they have to notice."""
    code = (
        "import os, subprocess, sys\n"
        "child = 'import time; from benchmarks.runs.child import _end_with_parent;"
        " _end_with_parent(); print(1, flush=True); time.sleep(600)'\n"
        "process = subprocess.Popen([sys.executable, '-c', child], stdout=subprocess.PIPE)\n"
        "process.stdout.readline()\n"
        "print(process.pid, flush=True)\n"
        "process.wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout:
        child = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    for _ in range(200):
        if not child.is_running() or child.status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    else:
        child.kill()
        raise AssertionError("the run outlived its parent")
