"""The controls: chance where it should decide, and the best of what is left."""

from itertools import combinations

import numpy as np
import pytest

from qpopt import Instance, verify
from qpopt_torch.baselines.chance import chance_assignment, chance_selection


@pytest.fixture(scope="module")
def instance():
    rng = np.random.default_rng(5)
    similarity = rng.uniform(-0.5, 1, (4, 12))
    similarity[:, [3, 7]] = 0
    R = np.zeros((12, 12))
    return Instance(similarity, R, np.zeros(12), 5, 2, include=[1], exclude=[0])


@pytest.mark.parametrize("control", [chance_assignment, chance_selection])
def test_valid_and_fixed_by_the_seed(instance, control):
    solutions = [control(instance, seed) for seed in (0, 0, 1, 2, 3)]
    assert all(verify(instance, solution) for solution in solutions)
    assert solutions[0] == solutions[1]
    assert len({solution.selection.tobytes() for solution in solutions}) > 1
    # There are nine others that vary, so the two that do not are never taken.
    assert not {3, 7} & {d for solution in solutions for d in solution.selection.tolist()}


def test_chance_selection_has_the_best_assignment(instance):
    solution = chance_selection(instance, 1)
    columns = instance.A[:, solution.selection]
    sets = list(combinations(range(5), 2))

    def best(c, taken):
        if c == 4:
            return 0.0
        left = (one for one in sets if one not in taken)
        return max(columns[c, list(one)].sum() + best(c + 1, {*taken, one}) for one in left)

    assert solution.objective == pytest.approx(best(0, set()))


def test_chance_assignment_takes_no_account_of_the_similarity(instance):
    best = chance_selection(instance, 1)
    worse = [chance_assignment(instance, seed) for seed in range(20)]
    assert np.array_equal(worse[1].selection, best.selection)
    assert worse[1].objective < best.objective
    # Every class has every selected feature at some time.
    held = {(c, d) for one in worse for c, row in enumerate(one.class_sets()) for d in row}
    assert held >= {(c, 1) for c in range(4)}
