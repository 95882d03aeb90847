"""What is special about HiGHS."""

from __future__ import annotations

from threading import Event

import pytest

from qpopt import SolverFailure, Status, generate, solve
from qpopt.solvers import highs_
from qpopt.solvers.availability import load


def test_highs_is_left_behind_where_it_does_not_listen(monkeypatch):
    release = Event()
    monkeypatch.setattr(load("highspy").Highs, "run", lambda self: release.wait(60))
    monkeypatch.setattr(highs_, "LEAST_OVERRUN", 0.1)
    instance = generate(12, 4, 4, 2)
    options = {"search_steps": 0}
    solution = solve(instance, method="compact", solver="highs", time_limit=1, options=options)
    assert solution.status is Status.NO_SOLUTION
    assert solution.bound is None
    with pytest.raises(SolverFailure, match="still busy"):
        solve(instance, method="compact", solver="highs")
    release.set()
    monkeypatch.undo()
    assert highs_._left_behind[-1]._done.wait(60)
    assert solve(instance, method="compact", solver="highs").status is Status.OPTIMAL
