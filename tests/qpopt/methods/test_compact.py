from __future__ import annotations

import pytest

from qpopt import Status, generate, solve
from tests.brute_force import brute_force
from tests.installed import solvers


@pytest.mark.parametrize("name", solvers())
@pytest.mark.parametrize("seed", range(3))
def test_one_class_is_solved_to_the_end(name, seed):
    instance = generate(10, 1, 4, 2, seed=seed)
    options = {"search_steps": 0}
    solution = solve(instance, method="compact", solver=name, time_limit=20, options=options)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(brute_force(instance).objective)
