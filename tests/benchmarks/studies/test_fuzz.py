from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies import fuzz
from tests.brute_force import brute_force


def test_the_optimum_is_that_of_the_other_brute_force(toy):
    assert fuzz.optimum(toy) == pytest.approx(12.9)
    assert fuzz.optimum(toy) == brute_force(toy).objective


def test_one_instance_is_compared_at_least():
    tally = fuzz.fuzz(1, 0.0)
    assert tally.instances == 1
    assert tally.solves >= 6
    assert tally.bounds == 4
    assert tally.disagreements == ()


def test_what_is_wrong_is_told(toy):
    wrong = list(fuzz._wrong_solve(toy, 13.5, "projected", "auto", {}))
    assert [text.partition(": ")[2].split()[0] for text in wrong] == ["bound", "12.9"]
    assert len(list(fuzz._wrong_bound(toy, 20.0, "best"))) == 1


@pytest.mark.parametrize("number", [84, 97, 223])
def test_multipliers_that_grow_without_end_cost_no_bound_its_proof(number):
    """Two classes cannot differ within what is selected by half, so a cut falls for ever."""
    instance = fuzz._instance(np.random.default_rng([1707936531, number]))
    assert list(fuzz._wrong_bound(instance, fuzz.optimum(instance), "semidefinite")) == []
