from math import comb

import numpy as np
import pytest

from qpopt_torch import LoaderError, ModelError
from qpopt_torch.sparse.sets.answers import Answers
from qpopt_torch.sparse.sets.level_shares import LevelShares, exact_interval


def test_shares_worked_out():
    assignment = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    values = np.array([[3.0, 2, 1]] * 4)
    answers = Answers(values @ assignment.T, values, assignment)
    # At level 1, feature 0, classes 0 and 1 are possible; the true ones are 0, 1, 2, 0.
    shares = LevelShares.of(*answers.deepest(np.array([0, 1, 2, 0])))
    assert shares.hits == (4, 3, 2)
    assert shares.shares == (1.0, 0.75, 0.5)
    assert [shares.deepest(wanted) for wanted in (1.1, 1, 0.8, 0.75, 0.5, 0)] == [0, 0, 0, 1, 2, 2]
    assert "level 1:  75.0 %" in str(shares)
    assert LevelShares.from_dict(shares.to_dict()) == shares


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (7, 7), (1, 4), (3, 8), (20, 21)])
def test_intervals_leave_a_fortieth_at_each_end(hits, n):
    def at_least(k, share):
        return sum(comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(k, n + 1))

    low, high = exact_interval(hits, n)
    assert low == 0 if hits == 0 else at_least(hits, low) == pytest.approx(0.025)
    assert high == 1 if hits == n else 1 - at_least(hits + 1, high) == pytest.approx(0.025)


def test_counts_that_cannot_be():
    with pytest.raises(LoaderError, match="without samples"):
        LevelShares.of([], 2)
    for wrong in ({"hits": [2, 3], "n_samples": 3}, {"hits": [3, 2]}, {"hits": [], "n_samples": 0}):
        with pytest.raises(ModelError, match="levels"):
            LevelShares.from_dict(wrong)
