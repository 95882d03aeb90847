"""What the witness of a solver says of answers that are wrong, each in one way."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from qpopt import SolverFailure, Status, solve
from qpopt.control import Limits
from qpopt.models.compact import compile_compact
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import Candidate
from qpopt.selfcheck import witness as witness_module
from qpopt.selfcheck.cases import bundled
from qpopt.selfcheck.faults import Fault, worst
from qpopt.selfcheck.witness import Witness, value_and_slack
from qpopt.solvers import SolverRequest, find_solver
from tests.qpopt.selfcheck import broken_solvers

CASE = bundled(["clustered-12x6"])[0]
POINT = Candidate(CASE.best.selection, CASE.best.assignment)


def seen(solver, request=SolverRequest()):
    """Let a solver solve the compact model before a witness; return that."""
    instance = scaled(CASE.instance).instance
    witness = Witness(solver, instance, POINT)
    solver.solve(compile_compact(instance, quadratic=False), request)
    witness.leave()
    return witness


@pytest.mark.parametrize(
    ("solver", "fault", "message"),
    [
        (broken_solvers.Infeasible(), Fault.INFEASIBLE_POINT, "constraint"),
        (broken_solvers.Wrong(), Fault.WRONG_OBJECTIVE, "the objective is said to be"),
        (broken_solvers.Low(), Fault.LOW_BOUND, "is said to be a bound; a point with"),
        (broken_solvers.Early(), Fault.EARLY_OPTIMAL, "is called optimal; a point with"),
        (broken_solvers.Denying(), Fault.CALLED_INFEASIBLE, "the model is called infeasible"),
    ],
)
def test_what_is_broken_is_named(solver, fault, message):
    found = worst(seen(solver).findings)
    assert found.fault is fault
    assert message in found.message


def test_a_sound_solver_is_left_alone():
    solver = broken_solvers.Sound()
    witness = seen(solver)
    assert witness.findings == []
    assert witness.answers[0]["status"] == "optimal"
    assert all(value == 1.0 for name, value in witness.answers[0]["point"].items() if "s[" in name)
    assert "solve" not in vars(solver)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(3), "it is no list of"),
        (np.nan, "it is no list of"),
        (2.0, r"variable s\[0\] is 2.0, not within its bounds"),
        (0.5, r"which is not whole"),
        (1.0, "constraint 0 gives"),
    ],
)
def test_points_that_break_the_model(x, message):
    solver = broken_solvers.Sound()
    honest = solver.solve

    def lie(model, request):
        point = x if np.ndim(x) else np.full(model.n_variables, x)
        return replace(honest(model, request), x=point, objective=None)

    solver.solve = lie
    found = worst(seen(solver).findings)
    assert found.fault is Fault.INFEASIBLE_POINT
    assert re.search(message, found.message)


def test_a_bound_on_the_way_counts():
    solver = broken_solvers.Sound()
    honest = solver.solve

    def lie(model, request):
        request.on_progress(None, 1.0)
        return honest(model, request)

    solver.solve = lie
    found = worst(seen(solver).findings)
    assert found.fault is Fault.LOW_BOUND
    assert found.message.startswith("on the way 1.0 is said to be a bound")


def test_whoever_comes_back_late_hangs(monkeypatch):
    monkeypatch.setattr(witness_module, "OVERDUE", -1.0)
    solver = broken_solvers.Sound()
    request = SolverRequest(Limits(time_limit=1.0))
    found = worst(seen(solver, request).findings)
    assert found.fault is Fault.HANG
    assert found.message.endswith("s where it was given 1.0 s.")


def test_products_count_in_the_value():
    """The value of the model is Z, and the rounding that is allowed goes with its terms."""
    instance = scaled(CASE.instance).instance
    model = compile_compact(instance, quadratic=True)
    x = np.zeros(model.n_variables)
    model.block("s", x)[POINT.selection] = 1.0
    model.block("w", x)[:, POINT.selection] = POINT.assignment
    value, slack = value_and_slack(model, x)
    parts = instance.objective(*POINT)
    assert value == pytest.approx(parts.total, abs=1e-9)
    given = instance.A[:, POINT.selection][POINT.assignment]
    terms = np.abs(given).sum() + parts.redundancy + np.abs(instance.b[POINT.selection]).sum()
    assert slack == pytest.approx(1e-5 * terms)


def test_the_registry_gives_the_witnessed_solver():
    highs = find_solver("highs")
    witness = Witness(highs, scaled(CASE.instance).instance, POINT)
    solution = solve(CASE.instance, method="compact", solver="highs", options={"search_steps": 0})
    witness.leave()
    assert solution.status is Status.OPTIMAL
    assert [answer["status"] for answer in witness.answers][-1] == "optimal"
    assert witness.findings == []


def test_what_solve_refuses_has_been_noted_before():
    highs = find_solver("highs")
    honest = type(highs).solve
    witness = Witness(highs, scaled(CASE.instance).instance, POINT)
    witness._solve = lambda model, request: replace(honest(highs, model, request), bound=1.0)
    with pytest.raises(SolverFailure, match="said to be proven"):
        solve(CASE.instance, method="compact", solver="highs", options={"search_steps": 0})
    witness.leave()
    assert worst(witness.findings).fault is Fault.LOW_BOUND
