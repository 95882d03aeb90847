"""Handing over to the MIP solver, against brute force."""

from __future__ import annotations

from functools import partial
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt import Status, solve, verify
from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.errors import SolverFailure
from qpopt.methods import projected
from qpopt.methods.compact import run_compact
from qpopt.problem.subproblem import subproblem
from qpopt.proofs.handover import hand_over
from qpopt.solvers.registry import find_solver
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value


def incumbent_of(instance, **limits):
    return Incumbent(instance, Limits(**limits))


def ask_highs(incumbent, part, most_variables=4000):
    finish = partial(run_compact, solver=find_solver("highs"), quadratic=False)
    return hand_over(incumbent, part, Limits(60.0, gap=0.0), finish, most_variables)


@settings(max_examples=15)
@given(awkward_instances(max_features=6, max_classes=4))
def test_the_whole_is_solved(instance):
    part = subproblem(instance)
    if not part.n_select:
        return
    incumbent = incumbent_of(instance, gap=0.0)
    assert ask_highs(incumbent, part)
    best = brute_force(instance).objective
    assert incumbent.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert incumbent.bound >= best - 1e-9 * max(1.0, abs(best))


@settings(max_examples=15)
@given(awkward_instances(max_features=7, max_classes=4, fixed=False), st.data())
def test_a_part_is_searched_and_what_is_outside_it_stays(instance, data):
    """Some feature is in, some is out: the bound holds for the part and for what was known."""
    out = data.draw(st.integers(0, instance.n_features - 1))
    free = np.setdiff1d(np.arange(instance.n_features), [out])
    part = subproblem(instance, free)
    if not part.feasible:
        return
    outside = [s for s in all_selections(instance) if out in s]
    incumbent = incumbent_of(instance, gap=0.0)
    incumbent.judge(np.array(outside[0]))
    known = incumbent.objective
    ask_highs(incumbent, part)
    inside = [s for s in all_selections(instance) if out not in s]
    best = max(value(instance, s, best_class_sets(instance, s)) for s in inside)
    expected = max(best, known)
    assert incumbent.objective == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert incumbent.bound >= expected - 1e-9 * max(1.0, abs(expected))


@pytest.mark.parametrize("most_variables", [12 * 5 - 1, 12 * 5])
def test_what_is_large_is_not_handed_over(most_variables):
    incumbent = incumbent_of(qpopt.generate(12, 4, 4, 2))
    assert not ask_highs(incumbent, subproblem(incumbent.instance), most_variables)
    assert incumbent.bound == inf


def test_a_failure_of_the_solver_does_not_end_the_proof(monkeypatch):
    def fail(*arguments, **options):
        raise SolverFailure("it is busy")

    monkeypatch.setattr(projected, "run_compact", fail)
    instance = qpopt.generate(24, 8, 6, 3)
    notes = []
    solution = solve(
        instance,
        options={"search_seconds": 0.0, "enumerate": False},
        progress=lambda event: notes.append(event.note),
    )
    assert "it is busy" in notes
    assert solution.status is Status.OPTIMAL
    assert verify(instance, solution)


def test_an_interruption_of_the_solver_ends_the_proof(monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(projected, "run_compact", interrupt)
    solution = solve(
        qpopt.generate(40, 10, 8, 3), options={"search_seconds": 0.1, "enumerate": False}
    )
    assert solution.status is Status.INTERRUPTED
    assert solution.found


def test_the_solver_can_be_left_out(monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("it was asked")

    monkeypatch.setattr(projected, "run_compact", fail)
    options = {"search_seconds": 0.0, "enumerate": False, "hand_over": False}
    solution = solve(qpopt.generate(20, 6, 5, 2), options=options)
    assert solution.status is Status.OPTIMAL


def test_the_solver_ends_a_proof():
    instance = qpopt.generate(24, 8, 6, 3, structure="uniform")
    events = []
    solution = solve(
        instance, options={"search_seconds": 0.1, "enumerate": False}, progress=events.append
    )
    phases = list(dict.fromkeys(event.phase for event in events))
    assert phases == [Phase.SEARCH, Phase.LINEAR, Phase.START, Phase.BUILD, Phase.MIP]
    assert solution.status is Status.OPTIMAL
    assert solution.details["nodes"] == 0


def test_a_closed_gap_is_not_the_end_for_a_checkpoint(tmp_path):
    instance = scattered(seed=0, n=24)
    options = {"checkpoint": tmp_path / "checkpoint.npz", "enumerate": False, "search_seconds": 0.0}
    roughly = solve(instance, gap=0.2, options=options)
    exactly = solve(instance, gap=0.0, options={**options, "hand_over": False})
    other = solve(instance, method="compact", solver="highs", gap=0.0)
    assert roughly.bound >= other.objective - 1e-6
    assert exactly.objective == pytest.approx(other.objective, rel=1e-6)


def scattered(seed, n):
    """Return an instance whose first good solution is not the best one."""
    rng = np.random.default_rng(seed)
    R = np.triu(1.5 * rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return qpopt.Instance(rng.random((6, n)), R + R.T, 0.3 * rng.random(n), 8, 3)
