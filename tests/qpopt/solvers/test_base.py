"""How the end of a run is read, for all solvers alike."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from scipy import sparse

from qpopt import Status
from qpopt.models.compiled import Block, CompiledModel, Kind, Rows
from qpopt.solvers import Solver, find_solver
from qpopt.solvers.availability import load
from qpopt.solvers.base import safe_bound
from tests.installed import solvers

MODEL = CompiledModel(
    c=np.array([2.0, 3.0]),
    constant=1.0,
    rows=Rows(sparse.csr_array((0, 2)), np.zeros(0), np.zeros(0)),
    lower=np.zeros(2),
    upper=np.ones(2),
    kinds=np.full(2, Kind.INTEGER, np.int8),
    blocks={"x": Block(0, (2,))},
)
X = np.array([1.0, 1.0])


class Talkative(Solver):
    name = "talkative"
    statuses = {"good": Status.OPTIMAL, "hopeless": Status.INFEASIBLE}  # noqa: RUF012

    def solve(self, model, request):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("ended", "x", "interrupted", "status"),
    [
        ("good", X, False, Status.OPTIMAL),
        ("good", X, True, Status.OPTIMAL),
        ("good", None, False, Status.NO_SOLUTION),
        ("time", X, False, Status.FEASIBLE),
        ("time", X, True, Status.INTERRUPTED),
        ("time", None, False, Status.NO_SOLUTION),
        ("time", None, True, Status.INTERRUPTED),
        ("hopeless", X, True, Status.INFEASIBLE),
    ],
)
def test_the_status_is_what_was_proven_or_how_it_ended(ended, x, interrupted, status):
    result = Talkative().ending(ended, MODEL, x, 7.5, interrupted=interrupted, lazy_added=3)
    assert result.status is status
    if status is Status.INFEASIBLE:
        assert (result.x, result.objective, result.bound) == (None, None, None)
        return
    # 2 + 3 + 1 where both variables are 1.
    assert result.objective == (None if x is None else 6.0)
    assert (result.bound, result.lazy_added) == (7.5, 3)


def test_a_bound_is_moved_outward_and_infinity_is_none():
    assert safe_bound(2.0) == pytest.approx(2.0 + 2e-6, abs=1e-12)
    assert safe_bound(0.0) == 1e-6
    for value in (inf, -inf, nan):
        assert safe_bound(value) is None
    assert safe_bound(1e20, 1e20) is None


WORDS = {
    "cpsat": lambda module: {"OPTIMAL": module.OPTIMAL, "INFEASIBLE": module.INFEASIBLE},
    "gurobi": lambda module: {
        getattr(module.GRB, name): name for name in ("OPTIMAL", "INFEASIBLE", "INF_OR_UNBD")
    },
    "highs": lambda module: module.HighsModelStatus.__members__,
}


@pytest.mark.parametrize("name", solvers())
def test_the_solvers_own_words_are_spelt_right(name):
    """SCIP tells its status as text, of which there is no list; its solves show that it is read."""
    solver = find_solver(name)
    module = load(solver.module)
    assert set(solver.statuses.values()) == {Status.OPTIMAL, Status.INFEASIBLE}
    if name in WORDS:
        assert solver.statuses.keys() <= WORDS[name](module).keys()
