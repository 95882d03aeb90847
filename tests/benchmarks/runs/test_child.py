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
