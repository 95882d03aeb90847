from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

import pytest

from qpopt import MissingSolver, SolverFailure, Status, available_solvers, generate, solve
from qpopt.solvers import (
    Availability,
    Solver,
    SolverResult,
    find_solver,
    registry,
    solver_names,
)
from qpopt.solvers.highs_ import Highs


class Idle(Solver):
    """A solver of someone else's, which finds nothing."""

    name = "idle"

    def solve(self, model, settings):
        return SolverResult(Status.NO_SOLUTION)


class Borrowed(Solver):
    """A solver of someone else's, which asks HiGHS."""

    name = "borrowed"

    def solve(self, model, settings):
        return Highs().solve(model, settings)


@pytest.fixture
def announced(monkeypatch):
    """Announce solvers as an installed package would."""

    def announce(**targets):
        added = [EntryPoint(name, target, registry.GROUP) for name, target in targets.items()]
        monkeypatch.setattr(
            registry,
            "entry_points",
            lambda group: [*entry_points(group=group), *(e for e in added if e.group == group)],
        )
        find_solver.cache_clear()

    yield announce
    find_solver.cache_clear()


def test_the_four_are_known_whether_installed_or_not():
    assert {"cpsat", "gurobi", "highs", "scip"} <= set(solver_names())
    infos = available_solvers()
    assert infos["highs"].availability.usable
    assert not infos["highs"].supports.quadratic_objective
    assert infos["gurobi"].supports.lazy_callback
    assert infos["cpsat"].install == "pip install 'qpopt[cpsat]'"


def test_an_unknown_solver_is_an_error_that_lists_the_known():
    with pytest.raises(MissingSolver, match="no solver called 'glpk'; known are auto, cpsat"):
        solve(generate(6, 2, 3, 2), solver="glpk")


def test_a_missing_solver_is_an_error_with_the_command(monkeypatch):
    monkeypatch.setattr(
        type(find_solver("scip")), "availability", lambda self: Availability(installed=False)
    )
    with pytest.raises(MissingSolver, match=r"pip install 'qpopt\[scip\]'"):
        solve(generate(6, 2, 3, 2), solver="scip")


def test_a_broken_solver_is_an_error_with_the_reason(monkeypatch):
    def fail():
        raise SolverFailure("its library is gone.")

    broken = Availability(installed=True, version="1", licence=fail)
    monkeypatch.setattr(type(find_solver("scip")), "availability", lambda self: broken)
    with pytest.raises(MissingSolver, match="its library is gone"):
        solve(generate(6, 2, 3, 2), solver="scip")


def test_a_package_may_add_a_solver(announced):
    announced(borrowed=f"{__name__}:Borrowed")
    assert "borrowed" in available_solvers()
    solution = solve(generate(8, 3, 4, 2), solver="borrowed")
    assert solution.solver == "borrowed"
    assert solution.status is Status.OPTIMAL


def test_a_solver_that_finds_nothing_cannot_lose_the_start(announced):
    announced(idle=f"{__name__}:Idle")
    instance = generate(8, 3, 4, 2)
    solution = solve(instance, solver="idle", start=[0, 1, 2, 3], options={"search_steps": 0})
    assert solution.status is Status.FEASIBLE
    assert solution.selection.tolist() == [0, 1, 2, 3]
    assert solve(instance, solver="idle", options={"search_steps": 0}).status is Status.NO_SOLUTION


def test_what_is_announced_must_be_a_solver(announced):
    announced(wrong="builtins:dict", gone="no_such_package:Solver")
    with pytest.raises(MissingSolver, match=r"builtins:dict, is no qpopt\.solvers\.Solver"):
        find_solver("wrong")
    with pytest.raises(MissingSolver, match="cannot be loaded"):
        find_solver("gone")


def test_a_solver_that_contradicts_itself_is_a_failure(announced, monkeypatch):
    announced(idle=f"{__name__}:Idle")
    monkeypatch.setattr(
        Idle, "solve", lambda self, model, settings: SolverResult(Status.INFEASIBLE)
    )
    for method in ("compact", "paper"):
        with pytest.raises(SolverFailure, match="says that the model is infeasible"):
            solve(generate(8, 3, 4, 2), solver="idle", method=method)
