"""Levels of hand-made samples, worked out on paper and by the definition with sets."""

import numpy as np
import pytest

from qpopt_torch.sparse.sets.depths import Depths


def by_definition(values, assignment, predicted):
    """L_0 … L_k of one sample with sets, as the definition says it."""
    classes, n_levels = range(len(assignment)), int((assignment != 0).sum(1).max())
    terms = [
        sorted((-w * v, d, w) for d, (w, v) in enumerate(zip(row, values, strict=True)) if w)
        for row in assignment
    ]
    first = [lambda n, own=own: {(d, w) for _, d, w in own[:n]} for own in terms]
    active = sum(value < 0 for value, _, _ in terms[predicted])
    levels = [set(classes)]
    for level in range(1, n_levels):
        depth = min(level, active)
        alike = {
            c
            for c in classes
            if len(terms[c]) >= level and first[c](depth) == first[predicted](depth)
        }
        levels.append(alike | {predicted})
    return [*levels, {predicted}]


def found(values, assignment, predicted):
    depths = Depths.of([values], assignment, [predicted])
    return depths, [set(np.flatnonzero(depths.possible(n)[0])) for n in range(depths.n_levels + 1)]


ASSIGNMENT = np.array(
    [
        [1, 1, 1, 0, 0],  # predicted: 0, 1, 2
        [1, 1, 0, 1, 0],  # a contrastive pair with it: feature 3 in place of 2
        [1, 0, 1, 0, 1],  # shares 0 and 2
        [0, 0, 1, 1, 1],
    ]
)


def test_worked_out():
    # The order is 0, 1, 2, 3, 4. Class 1 has 0, 1 as well, class 2 has 0 and then 2.
    depths, levels = found([3.0, 2.0, 1.0, 0.5, 0.1], ASSIGNMENT, 0)
    assert depths.order[0].tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 4], [2, 3, 4]]
    assert depths.values[0, 2].tolist() == [3.0, 1.0, 0.1]
    assert depths.active.tolist() == [3]
    assert depths.shared.tolist() == [[3, 2, 1, 0]]
    assert depths.lasting.tolist() == [[3, 2, 1, 0]]
    assert levels == [{0, 1, 2, 3}, {0, 1, 2}, {0, 1}, {0}]


def test_a_private_feature_that_comes_first_ends_the_pair_at_once():
    # Feature 2, private of class 0, is the most active: class 1 leaves at level 1.
    _, levels = found([2.0, 1.0, 3.0, 0.5, 0.0], ASSIGNMENT, 0)
    assert levels == [{0, 1, 2, 3}, {0, 2, 3}, {0, 2}, {0}]


def test_inactive_features_open_no_level():
    # Only feature 0 is active: whoever has it stays until the last level.
    depths, levels = found([3.0, 0.0, 0.0, 0.0, 0.0], ASSIGNMENT, 0)
    assert depths.active.tolist() == [1]
    assert levels == [{0, 1, 2, 3}, {0, 1, 2}, {0, 1, 2}, {0}]
    assert depths.shared.tolist() == [[3, 1, 1, 0]]
    assert depths.lasting.tolist() == [[3, 2, 2, 0]]
    # Nothing is active: nothing is known until the last level.
    _, levels = found([0.0] * 5, ASSIGNMENT, 2)
    assert levels == [{0, 1, 2, 3}] * 3 + [{2}]
    # Without ReLU, what is below the training mean is not active either.
    _, levels = found([3.0, -1.0, -2.0, -0.5, 0.0], ASSIGNMENT, 0)
    assert levels == [{0, 1, 2, 3}, {0, 1, 2}, {0, 1, 2}, {0}]


def test_ties_go_by_index_in_all_classes_alike():
    depths, levels = found([1.0, 1.0, 1.0, 1.0, 1.0], ASSIGNMENT, 1)
    assert depths.order[0].tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 4], [2, 3, 4]]
    assert levels == [{0, 1, 2, 3}, {0, 1, 2}, {0, 1}, {1}]


def test_one_class_and_one_feature():
    assert found([1.0, 2.0], np.array([[1, 1]]), 0)[1] == [{0}, {0}, {0}]
    assert found([1.0, 2.0], np.array([[1, 0], [0, 1]]), 1)[1] == [{0, 1}, {1}]


def test_budgets_differ():
    assignment = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]])
    # Class 2 is predicted; class 0 has one feature and so is not in L_2, though that agrees.
    depths, levels = found([3.0, 2.0, 1.0, 0.0], assignment, 2)
    assert levels == [{0, 1, 2, 3}, {0, 1, 2}, {1, 2}, {2}]
    assert depths.order[0, 1].tolist() == [0, 1, -1]
    # Class 0 is predicted: its one feature holds for all that have it, as far as they have more.
    _, levels = found([3.0, 2.0, 1.0, 0.0], assignment, 0)
    assert levels == [{0, 1, 2, 3}, {0, 1, 2}, {0, 1, 2}, {0}]


def test_what_speaks_against_a_class_counts_by_what_it_adds():
    assignment = np.array([[1, -1, 0], [1, 1, 0], [0, -1, 1]])
    # Feature 1 is at -2: "not 1" adds 2 to class 0, and it leads there.
    depths, levels = found([1.0, -2.0, 0.5], assignment, 0)
    assert depths.order[0, 0].tolist() == [1, 0]
    assert depths.values[0, 0].tolist() == [2.0, 1.0]
    assert levels == [{0, 1, 2}, {0, 2}, {0}]


@pytest.mark.parametrize("seed", range(40))
def test_random_samples_follow_the_definition(seed):
    rng = np.random.default_rng(seed)
    n_classes, n_features = rng.integers(1, 7), int(rng.integers(2, 7))
    assignment = np.zeros((n_classes, n_features), dtype=int)
    for row in assignment:
        size = int(rng.integers(1, 4)) if seed % 2 else 2
        row[rng.choice(n_features, min(size, n_features), replace=False)] = 1
    if seed % 4 == 3:
        assignment *= rng.choice([-1, 1], assignment.shape)
    values = np.maximum(rng.integers(-2, 4, (6, n_features)).astype(float), 0 if seed % 3 else -2)
    predicted = (values @ assignment.T).argmax(1)
    depths = Depths.of(values, assignment, predicted)
    for i, (row, winner) in enumerate(zip(values, predicted, strict=True)):
        levels = by_definition(row, assignment, winner)
        for level, classes in enumerate(levels):
            assert set(np.flatnonzero(depths.possible(level)[i])) == classes
        # What agrees on all that is active has nothing else active, or it would have won.
        if seed % 4 != 3 and seed % 3:
            for c in np.flatnonzero(depths.shared[i] == depths.active[i]):
                rest = depths.values[i, c, depths.active[i] :]
                assert c == winner or (rest <= 0).all()
