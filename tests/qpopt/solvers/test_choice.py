from __future__ import annotations

import pytest

from qpopt import MissingSolver, SolverLimit, UnsupportedModel
from qpopt.models.compiled import Size
from qpopt.solvers import Availability, LicenceLimits, find_solver
from qpopt.solvers.choice import check, choose, within_limits

SMALL = Size(100, 50)
QUADRATIC = Size(100, 50, quadratic_objective=True)
CONSTRAINED = Size(100, 50, quadratic_objective=True, quadratic_rows=True)
ORDER = ("gurobi", "highs", "cpsat", "scip")


@pytest.fixture
def here(monkeypatch):
    """Pretend that only the given solvers are there, Gurobi with its limited licence."""

    def pretend(*names):
        for name in ORDER:
            limits = LicenceLimits(2000, 2000, 200) if name == "gurobi" else None
            found = Availability(name in names, "1", lambda limits=limits: limits)
            kind = type(find_solver(name))
            monkeypatch.setattr(kind, "availability", lambda self, found=found: found)

    return pretend


def test_auto_takes_the_first_that_can(here):
    here("highs", "scip")
    assert choose("auto", [SMALL], ORDER).name == "highs"
    assert choose("auto", [CONSTRAINED], ORDER).name == "scip"
    assert choose("auto", [QUADRATIC, SMALL], ORDER).name == "highs"


def test_auto_takes_a_limited_licence_last(here):
    here("gurobi", "highs")
    assert choose("auto", [SMALL], ORDER).name == "highs"
    assert choose("auto", [CONSTRAINED], ORDER).name == "gurobi"


def test_auto_without_any_names_the_commands(here):
    here("highs")
    with pytest.raises(MissingSolver, match=r"qpopt\[gurobi\].* or .*qpopt\[scip\]"):
        choose("auto", [CONSTRAINED], ORDER)


def test_a_solver_that_cannot_is_refused_with_those_that_can(here):
    here(*ORDER)
    for name in ("highs", "cpsat"):
        with pytest.raises(
            UnsupportedModel, match="quadratic constraints; use one of gurobi, scip"
        ):
            choose(name, [CONSTRAINED], ORDER)


@pytest.mark.parametrize(
    ("size", "fits"),
    [
        (Size(2000, 2000), True),
        (Size(2001, 1), False),
        (Size(1, 2001), False),
        (Size(200, 1, quadratic_objective=True), True),
        (Size(201, 1, quadratic_objective=True), False),
        (Size(201, 1, quadratic_rows=True), False),
    ],
)
def test_the_limits_of_a_small_licence(here, size, fits):
    here(*ORDER)
    assert within_limits(find_solver("gurobi"), size) == fits
    assert within_limits(find_solver("scip"), size)


def test_a_model_beyond_the_licence_is_refused_in_numbers(here):
    here(*ORDER)
    with pytest.raises(SolverLimit) as caught:
        check(find_solver("gurobi"), Size(3000, 2500))
    for part in ("3,000 variables", "2,500 linear", "2,000 variables", "cpsat or highs or scip"):
        assert part in str(caught.value)
    with pytest.raises(SolverLimit, match="200 variables in a model with products"):
        check(find_solver("gurobi"), Size(300, 10, quadratic_rows=True))
