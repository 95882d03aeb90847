from __future__ import annotations

import numpy as np
import pytest

from benchmarks.studies.fuzzing import comparing, drawing
from benchmarks.studies.fuzzing.comparing import Way
from benchmarks.studies.fuzzing.exhaustive import optimum
from qpopt import Instance

PROJECTED = Way("projected", "auto", {})


def told(wrong):
    return [text.partition(": ")[2].split()[:3] for text in wrong]


def test_what_is_wrong_is_told(toy):
    wrong = told(comparing.wrong_solve(toy, 13.5, PROJECTED))
    assert [words[0] for words in wrong] == ["bound", "12.9"]
    assert told(comparing.wrong_solve(toy, 12.0, PROJECTED))[0][0] == "objective"
    assert len(list(comparing.wrong_bound(toy, 20.0, "best"))) == 1
    assert len(list(comparing.wrong_proof(toy, 20.0, {}))) == 1


def test_so_is_a_solution_where_there_is_none_and_none_where_there_is_one(toy):
    assert told(comparing.wrong_solve(toy, None, PROJECTED)) == [["ends", "optimal", "with"]]
    torn = Instance(
        np.zeros((3, 5)), np.zeros((5, 5)), np.zeros(5), 3, 2,
        required=[(0, 4)], forbidden=[(1, 4), (2, 4), (0, 3)],
    )  # fmt: skip
    assert optimum(torn) is None
    assert told(comparing.wrong_solve(torn, 0.0, PROJECTED)) == [["is", "called", "infeasible,"]]
    assert list(comparing.wrong_solve(torn, None, PROJECTED)) == []


def test_ways_take_what_is_demanded(toy):
    methods = {way.method for way in comparing.ways(toy)}
    assert {"projected", "search", "compact", "paper"} <= methods
    asked = toy.with_demands(max_shared=1)
    assert {way.method for way in comparing.ways(asked)} == methods - {"paper", "qcqp"}


@pytest.mark.parametrize("number", [84, 97, 223])
def test_multipliers_that_grow_without_end_cost_no_bound_its_proof(number):
    """Two classes cannot differ within what is selected by half, so a cut falls for ever."""
    instance = drawing.plain(np.random.default_rng([1707936531, number]))
    assert list(comparing.wrong_bound(instance, optimum(instance), "semidefinite")) == []
