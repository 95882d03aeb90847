from math import comb

import numpy as np
import pytest
from hypothesis import given, settings

from qpopt import Instance, generate
from qpopt.search.exhaustive import n_selections, try_every_selection
from qpopt.search.incumbent import Incumbent
from qpopt.search.local_search import search
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, brute_force


@given(awkward_instances())
def test_the_number_of_selections(instance):
    assert n_selections(instance) == sum(1 for _ in all_selections(instance))


@settings(max_examples=60)
@given(awkward_instances())
def test_trying_every_selection_gives_the_optimum(instance):
    incumbent = Incumbent(instance, None, None, None, None)
    assert try_every_selection(incumbent)
    assert incumbent.steps == n_selections(instance)
    best = brute_force(instance).objective
    assert incumbent.objective == pytest.approx(best, rel=1e-12, abs=1e-12)


@settings(max_examples=40)
@given(awkward_instances())
def test_a_search_of_few_selections_ends_by_itself_with_the_optimum(instance):
    result = search(instance, time_limit=600)
    assert result.complete
    best = brute_force(instance).objective
    assert result.objective == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_selections_are_not_tried_one_by_one(threads):
    instance = generate(60, 20, 8, 3, seed=2)
    result = search(instance, step_limit=400, threads=threads)
    assert (result.complete, result.steps) == (False, 400)


def test_a_limit_that_comes_first_leaves_it_incomplete():
    instance = generate(12, 6, 5, 2, seed=5)
    count = comb(12, 5)
    assert search(instance, step_limit=count + 1000).complete
    for limits in ({"step_limit": count}, {"time_limit": 0}, {"target": -1e9}):
        assert not search(instance, **limits).complete
    assert search(instance, step_limit=count).steps == count


def test_a_target_ends_it_on_the_way():
    instance = generate(12, 6, 5, 2, seed=5)
    best = brute_force(instance).objective
    incumbent = Incumbent(instance, None, None, best - 1e-9, None)
    assert not try_every_selection(incumbent)
    assert incumbent.objective == pytest.approx(best)
    assert incumbent.steps < comb(12, 5)


def test_an_interruption_on_the_way_leaves_it_incomplete(monkeypatch):
    def interrupt(incumbent):
        raise KeyboardInterrupt

    monkeypatch.setattr("qpopt.search.local_search.try_every_selection", interrupt)
    result = search(generate(12, 6, 5, 2, seed=5), time_limit=60)
    assert (result.interrupted, result.complete) == (True, False)


def test_a_single_selection_is_optimal_without_a_step():
    instance = Instance(np.eye(2, 4), np.zeros((4, 4)), np.zeros(4), 3, 1, exclude=[3])
    result = search(instance, step_limit=0)
    assert (result.complete, result.steps) == (True, 0)
    assert result.selection.tolist() == [0, 1, 2]
