from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies.fuzzing.exhaustive import optimum
from qpopt import Average, Instance
from tests.brute_force import brute_force
from tests.demanded import best_demanded


def test_the_optimum_is_that_of_the_other_brute_force(toy):
    assert optimum(toy) == pytest.approx(12.9)
    assert optimum(toy) == brute_force(toy).objective


@pytest.mark.parametrize(
    "demand",
    [
        {"forbidden": [(0, 1), (2, 3)], "required": [(1, 4)]},
        {"classes_per_feature": (1, 2)},
        {"pairs": [(0, 2)]},
        {"pairs": 2},
        {"max_shared": 1},
        {"budget": [1, 2, 3]},
        {"budget": Average(1, 3)},
        {"negative": (1, 0.5)},
        {"budget": [1, 2, 3], "negative": (2, 2.0)},
    ],
    ids=str,
)
def test_so_it_is_with_demands(demand):
    rng = np.random.default_rng(7)
    R = np.triu(rng.uniform(0, 1, (6, 6)), 1)
    instance = Instance(rng.uniform(-1, 1, (3, 6)), R + R.T, rng.uniform(-1, 1, 6), 4, 2, **demand)
    other = best_demanded(instance)
    assert other is not None
    assert optimum(instance) == pytest.approx(other.objective, rel=1e-14)
