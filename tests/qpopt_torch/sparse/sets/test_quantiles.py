import numpy as np
import pytest
from scipy.stats import beta

from qpopt_torch.sparse.sets.quantiles import (
    class_quantiles,
    coverage_range,
    fewest,
    least_evidence,
    quantile,
    rank,
)


@pytest.mark.parametrize(("alpha", "n"), [(0.1, 9), (0.05, 19), (0.01, 99), (0.3, 3), (0.5, 1)])
def test_the_fewest_samples(alpha, n):
    assert fewest(alpha) == n
    assert rank(n, alpha) == n
    assert quantile(range(n), alpha) == n - 1
    assert quantile(range(n - 1), alpha) == np.inf


def test_ranks_worked_out():
    # ⌈11 · 0.9⌉ = 10, ⌈20 · 0.9⌉ = 18 though 1 − 0.1 is not exactly 0.9, ⌈101 · 0.95⌉ = 96.
    assert [rank(n, a) for n, a in ((10, 0.1), (19, 0.1), (100, 0.05))] == [10, 18, 96]
    assert quantile([5.0, 1, 3, 2, 4, 8, 7, 6, 9], 0.2) == 8
    for alpha in np.linspace(0.01, 0.99, 99):
        for n in range(1, 120):
            # The definition of the smallest n, whatever is rounded.
            assert (rank(n, alpha) <= n) == (n >= fewest(alpha))


def test_classes_by_themselves():
    values, labels = [3.0, 1, 2, 9, 8], [0, 0, 0, 1, 2]
    found = class_quantiles(values, labels, 4, 0.3)
    assert found.tolist() == [3.0, np.inf, np.inf, np.inf]
    assert class_quantiles(values, labels, 3, 0.5).tolist() == [2.0, 9.0, 8.0]


def test_least_evidence_worked_out():
    # ⌊0.25 · (7 + 1)⌋ = 2: the second smallest. ⌊0.25 · (2 + 1)⌋ = 0: nothing is turned away.
    values, labels = [5.0, 4, 3, 2, 1, 7, 6, 9, 9], [0] * 7 + [1] * 2
    assert least_evidence(values, labels, 3, 0.25).tolist() == [2.0, -np.inf, -np.inf]
    # ⌊0.1 · 10⌋ = 1, though 0.1 · 10 may round below.
    assert least_evidence(np.arange(9.0), [0] * 9, 1, 0.1).tolist() == [0.0]


def test_where_the_coverage_lies():
    low, high = coverage_range(99, 0.1)
    share = beta.cdf([low, high], 90, 10)
    assert share == pytest.approx([0.05, 0.95])
    # By chance: the coverage of a uniform score is its quantile.
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.random((4000, 99)), axis=1)[:, 89]
    assert np.mean((drawn >= low) & (drawn <= high)) == pytest.approx(0.9, abs=0.02)
    assert coverage_range(3, 0.1) == (1.0, 1.0)
