from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies import demanded, fuzz
from qpopt import InfeasibleInstance, Solution, bound, generate
from qpopt.problem.constraints import EVERY_DEMAND
from tests.brute_force import brute_force
from tests.demanded import best_demanded, statement


def test_the_optimum_is_that_of_the_other_brute_force(toy):
    assert fuzz.optimum(toy) == pytest.approx(12.9)
    assert fuzz.optimum(toy) == brute_force(toy).objective


def test_two_instances_are_compared_at_least_one_of_them_with_demands():
    tally = fuzz.fuzz(3, 0.0)
    assert (tally.instances, tally.demanding, tally.refused) == (2, 1, 0)
    assert tally.solves >= 10
    assert tally.bounds == 8
    assert tally.disagreements == ()


def test_an_interrupted_fuzz_tells_what_it_has_compared(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzz, "_compared", lambda _: fuzz.Tally(1, 7, 4))
    monkeypatch.setattr(fuzz, "_compared_with_demands", interrupted)
    assert fuzz.fuzz(3, 60.0) == fuzz.Tally(1, 7, 4)


def test_demands_are_tried_out_in_every_mix():
    """What both ways of trying everything say of them is the same; counting refuses no solution."""
    kinds, solved, refused, without = set(), 0, 0, 0
    for number in range(120):
        given = demanded.drawn(np.random.default_rng([5, number]))
        if given.A.size > 16:
            continue
        *arrays, n_select, n_per_class, others = given
        best = best_demanded(statement(*arrays, n_select, n_per_class, **others))
        found = demanded.optimum(given)
        assert (None if best is None else best.objective) == pytest.approx(found)
        try:
            kinds.update(given.instance().demands.stated)
        except InfeasibleInstance:
            refused += 1
            assert found is None
            continue
        solved, without = solved + (found is not None), without + (found is None)
    assert kinds == EVERY_DEMAND
    assert min(solved, refused, without) > 0


def test_a_false_infeasible_is_told(monkeypatch):
    instance = generate(8, 3, 5, 2).with_demands(forbidden=[(0, 1)])
    none = Solution(None, None, None, status="infeasible", fingerprint=instance.fingerprint)
    monkeypatch.setattr(fuzz, "solve", lambda *given, **named: none)
    (told,) = fuzz._wrong_solve(instance, 3.0, "projected", "auto", {})
    assert told.endswith("infeasible, but the optimum is 3.0")
    assert list(fuzz._wrong_solve(instance, -np.inf, "projected", "auto", {})) == []


def test_what_is_wrong_is_told(toy):
    wrong = list(fuzz._wrong_solve(toy, 13.5, "projected", "auto", {}))
    assert [text.partition(": ")[2].split()[0] for text in wrong] == ["bound", "12.9"]
    assert len(list(fuzz._wrong_bound(toy, 20.0, "best"))) == 1


@pytest.mark.parametrize("number", [84, 97, 223])
def test_multipliers_that_grow_without_end_cost_no_bound_its_proof(number):
    """Two classes cannot differ within what is selected by half, so a cut falls for ever."""
    instance = fuzz._instance(np.random.default_rng([1707936531, number]))
    assert list(fuzz._wrong_bound(instance, fuzz.optimum(instance), "semidefinite")) == []


def test_crowded_instances_need_groups_and_families():
    crowded = fuzz._crowded(np.random.default_rng([5, 34]))
    steps = bound(crowded, kind="thresholds").certificate.steps
    groups = [group for step in steps for group in step.groups]
    assert any(group.family is not None for group in groups)
