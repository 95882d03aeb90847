from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt import Instance, Status, generate, verify
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.search.budget import Budget
from qpopt.search.local_search import search
from qpopt.search.worker import SearchParams
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, brute_force


class Searched:
    """An incumbent that a search has worked for, and how it ended."""

    def __init__(
        self, instance, *, seed=0, threads=None, start=None, told=None, few=None, **limits
    ):
        self.incumbent = Incumbent(
            instance, Limits(seed=seed, threads=threads), start=start, on_event=told
        )
        self.budget = Budget(self.incumbent, **limits)
        self.complete = None
        params = SearchParams() if few is None else SearchParams(most_selections=few)
        self.incumbent.run(lambda: self._search(params))
        self.solution = self.incumbent.solution()
        self.objective, self.steps = self.incumbent.objective, self.budget.steps

    def _search(self, params):
        self.complete = search(self.incumbent, self.budget, params)


def assert_valid(instance, result):
    verification = verify(instance, replace(result.solution, status=Status.FEASIBLE))
    assert str(verification) == "verified: no violation"


@settings(max_examples=40)
@given(awkward_instances())
def test_swaps_find_the_best_solution_of_small_instances(instance):
    result = Searched(instance, steps=500, few=0)
    assert_valid(instance, result)
    assert result.complete == (sum(1 for _ in all_selections(instance)) == 1)
    best = brute_force(instance).objective
    assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_finds_the_planted_selection(seed):
    instance = generate(80, 20, 10, 3, structure="planted", seed=seed)
    result = Searched(instance, steps=1500, seed=seed)
    assert result.solution.selection.tolist() == list(instance.provenance["planted"])


def test_the_same_seed_gives_the_same_result():
    instance = generate(100, 40, 12, 3, seed=5)
    one, other = (Searched(instance, steps=1500, seed=9) for _ in range(2))
    assert one.steps == other.steps == 1500
    assert one.solution.selection.tolist() == other.solution.selection.tolist()
    assert one.solution.assignment.tolist() == other.solution.assignment.tolist()
    assert [p.objective for p in one.solution.trace] == [p.objective for p in other.solution.trace]


def test_the_trace_rises_to_the_objective():
    instance = generate(100, 40, 12, 3, seed=5)
    told = []
    result = Searched(instance, steps=500, told=told.append)
    assert tuple(event.point for event in told[1:]) == result.solution.trace
    objectives = [point.objective for point in result.solution.trace]
    assert objectives == sorted(set(objectives))
    assert objectives[-1] == result.objective


@pytest.mark.parametrize("limits", [{"seconds": 0}, {"steps": 0}, {"target": -1e9}])
def test_the_smallest_limits_still_give_a_solution(limits):
    instance = generate(60, 20, 8, 3, seed=2)
    result = Searched(instance, **limits)
    assert result.steps == 0
    assert_valid(instance, result)


def test_a_target_ends_the_search():
    instance = generate(100, 40, 12, 3, seed=5)
    best = Searched(instance, steps=2000).objective
    result = Searched(instance, steps=100_000, target=best - 0.01)
    assert result.objective >= best - 0.01
    assert result.steps < 100_000


def test_several_threads_share_the_limit_and_the_best():
    instance = generate(100, 40, 12, 3, seed=5)
    result = Searched(instance, steps=1500, threads=3)
    assert result.steps == 1500
    assert_valid(instance, result)


def test_never_worse_than_the_start():
    instance = generate(100, 40, 12, 3, seed=5)
    start = Searched(instance, steps=500).incumbent.best
    result = Searched(instance, steps=0, start=start)
    assert result.solution.selection.tolist() == start.selection.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_returns_the_best_so_far(threads):
    instance = generate(100, 40, 12, 3, seed=5)
    points = []

    def interrupt(event):
        points.append(event.point)
        if len(points) == 3:
            raise KeyboardInterrupt

    result = Searched(instance, seconds=60, threads=threads, told=interrupt)
    assert result.incumbent.interrupted
    assert result.objective >= points[2].objective
    assert_valid(instance, result)


def test_an_error_of_the_progress_function_is_not_hidden():
    def fail(event):
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        Searched(generate(60, 20, 8, 3, seed=2), steps=100, threads=2, told=fail)


def test_classes_with_the_same_row_use_up_all_sets():
    # 8 features give 56 sets of 3, one for each class; every feature is in 21 of them.
    instance = Instance(np.tile(np.arange(30.0), (56, 1)), np.zeros((30, 30)), np.zeros(30), 8, 3)
    result = Searched(instance, steps=300)
    assert result.solution.selection.tolist() == list(range(22, 30))
    assert result.objective == 21 * sum(range(22, 30))


def test_patience_ends_a_search_that_no_longer_improves():
    instance = qpopt.generate(40, 10, 10, 3)
    result = Searched(instance, patience=0.3)
    assert result.solution.seconds >= result.solution.trace[-1].seconds + 0.3
    assert result.objective == Searched(instance, steps=result.steps).objective


@settings(max_examples=40)
@given(awkward_instances())
def test_a_search_of_few_selections_ends_by_itself_with_the_optimum(instance):
    result = Searched(instance)
    assert result.complete
    best = brute_force(instance).objective
    assert result.objective == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_selections_are_not_tried_one_by_one(threads):
    result = Searched(generate(60, 20, 8, 3, seed=2), steps=400, threads=threads)
    assert (result.complete, result.steps) == (False, 400)


def test_a_limit_that_comes_first_leaves_it_incomplete():
    instance = generate(12, 6, 5, 2, seed=5)
    count = comb(12, 5)
    assert Searched(instance, steps=count + 1000).complete
    for limits in ({"steps": count}, {"seconds": 0}, {"target": -1e9}):
        assert not Searched(instance, **limits).complete
    assert Searched(instance, steps=count).steps == count


def test_a_single_selection_is_optimal_without_a_step():
    instance = Instance(np.eye(2, 4), np.zeros((4, 4)), np.zeros(4), 3, 1, exclude=[3])
    result = Searched(instance, steps=0)
    assert (result.complete, result.steps) == (True, 0)
    assert result.solution.selection.tolist() == [0, 1, 2]


@settings(max_examples=30)
@given(awkward_instances(), st.integers(0, 5))
def test_equal_instances_give_equal_answers(instance, seed):
    """Names and provenance tell, they do not steer; a hint does, and is compared."""
    names = [f"class {c}" for c in range(instance.n_classes)]
    values = {"include": instance.include, "exclude": instance.exclude}
    arguments = (instance.A, instance.R, instance.b, instance.n_select, instance.n_per_class)
    clique = list(range(instance.n_select))
    other = Instance(
        *arguments, **values, class_names=names, name="x", provenance={"clique": clique}
    )
    assert instance == other
    one, same = (Searched(i, seed=seed, steps=5, few=0).solution for i in (instance, other))
    assert one.selection.tolist() == same.selection.tolist()
    assert [p.objective for p in one.trace] == [p.objective for p in same.trace]
    assert instance != Instance(*arguments, **values, hint=clique)


@pytest.mark.parametrize(
    ("A", "n_select", "best", "demands"),
    [
        ([[-5, -1, -5, -6, -5], [-7, -9, 4, -9, 2]], 3, 18.0, {"negative": (1, 1.0)}),
        (
            [[3, 8, -1, -8, 9, 0], [-3, -7, 7, 5, -4, 0], [-8, -9, -6, 7, -7, 9]],
            3, 36.5, {"negative": (2, 0.5)},
        ),
        (
            [[1, -6, 9, 4, -1, -6], [1, 5, -5, 9, 5, 2], [0, -9, -7, 5, -8, 0]],
            3, 31.0, {"budget": qpopt.Average(1, 3)},
        ),
    ],
)  # fmt: skip
def test_no_selection_is_passed_over_that_demands_make_worth_more(A, n_select, best, demands):
    """The climb ends below the best, and without demands the best selection is worth less."""
    n = len(A[0])
    instance = Instance(A, np.zeros((n, n)), np.zeros(n), n_select, 2, **demands)
    solution = qpopt.solve(instance, method="search", options={"step_limit": 3000})
    assert solution.objective == best
    assert solution.bound == pytest.approx(best)
    assert solution.status is Status.OPTIMAL
