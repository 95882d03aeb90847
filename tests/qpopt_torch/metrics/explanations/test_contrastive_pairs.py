from itertools import combinations

import numpy as np
import pytest

from qpopt_torch.metrics import ContrastivePairs, contrastive_pairs


def test_worked_out():
    assignment = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1], [0, 1, 1, 1]])
    found = contrastive_pairs(assignment)
    # (0, 1) share feature 0, (1, 2) share feature 2; class 3 has another number of features.
    assert found.n_pairs == 2
    assert found.share == pytest.approx(100 * 2 / 6)
    assert found.share_of_classes == 75.0
    assert ContrastivePairs(assignment).compute() == found.share


def test_the_same_feature_for_and_against_are_two():
    signed = np.array([[1, 1, 0], [1, -1, 0], [-1, 1, 1]])
    found = contrastive_pairs(signed)
    assert found.n_pairs == 1  # classes 0 and 1: feature 1 speaks for one, against the other
    assert contrastive_pairs(np.abs(signed)).n_pairs == 0  # they would be the same


def test_one_class():
    found = contrastive_pairs([[1, 1]])
    assert (found.n_pairs, found.share, found.share_of_classes) == (0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_by_sets_whatever_the_order(seed):
    rng = np.random.default_rng(seed)
    assignment = np.zeros((9, 6), dtype=int)
    for row in assignment:
        row[rng.choice(6, 3, replace=False)] = 1
    sets = [set(np.flatnonzero(row)) for row in assignment]
    pairs = [(a, b) for a, b in combinations(range(9), 2) if len(sets[a] & sets[b]) == 2]
    shuffled = assignment[rng.permutation(9)][:, rng.permutation(6)]
    for each in (assignment, shuffled):
        found = contrastive_pairs(each)
        assert found.n_pairs == len(pairs)
        assert found.share_of_classes == pytest.approx(100 * len({c for p in pairs for c in p}) / 9)
