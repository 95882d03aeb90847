"""Families in certificates: never less than the truth, nor than what is claimed."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from qpopt.cuts.families import Family, family_of
from qpopt.verification.family_check import most_of_family


def truth(rows, thresholds, prices, k):
    """Return the most by trying every choice of sets; fewer than k features stand for no set."""
    q, p = rows.shape
    options = [s for size in range(k + 1) for s in combinations(range(p), size)]
    best = 0.0
    for chosen in product(options, repeat=q):
        full = [s for s in chosen if len(s) == k]
        if len(full) == len(set(full)):
            gain = sum((rows[c, list(s)] - thresholds[c]).sum() for c, s in enumerate(chosen))
            best = max(best, gain - prices[sorted(set().union(*chosen))].sum())
    return best


@pytest.mark.parametrize("seed", range(15))
def test_all_that_a_family_gains_is_found(seed):
    rng = np.random.default_rng(seed)
    q, p, k = 3, int(rng.integers(2, 5)), int(rng.integers(1, 3))
    rows = rng.normal(size=p) + 0.2 * rng.normal(size=(q, p))
    thresholds, prices = rng.normal(-0.5, 0.3, q), np.abs(rng.normal(0.5, 0.5, p))
    exact = truth(rows, thresholds, prices, k)
    core = np.arange(p)
    anew = most_of_family(rows, Family(core, prices, 0.0), thresholds, k)
    assert anew == pytest.approx(exact, abs=1e-10)
    family, _, _ = family_of(rows, core, prices, thresholds, k, 10_000)
    assert exact <= family.most <= exact + 1e-8
    # What was found is not raised by what the check rounds up.
    assert most_of_family(rows, family, thresholds, k) == family.most


def test_what_is_claimed_too_low_is_not_believed():
    rows = np.ones((4, 3))
    family = Family(np.arange(3), np.zeros(3), 1.0)
    # Four classes and three sets of two: one class is left with one feature.
    assert most_of_family(rows, family, np.zeros(4), 2) == pytest.approx(7.0)


def test_a_long_list_of_features_is_charged_no_less_than_it_gains():
    rows = np.tile(np.linspace(2.0, 1.0, 9), (6, 1))
    family = Family(np.arange(9), np.zeros(9), 0.0)
    best = sum(sorted((row for row in rows[0]), reverse=True)[:6])
    assert most_of_family(rows, family, np.zeros(6), 1) >= best
