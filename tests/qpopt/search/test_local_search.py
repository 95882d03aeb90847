import numpy as np
import pytest
from hypothesis import given, settings

import qpopt
from qpopt import Instance, InvalidArgument, Solution, generate, verify
from qpopt.search.local_search import search
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, brute_force


def assert_valid(instance, result):
    solution = Solution(
        result.selection, result.assignment, result.objective, fingerprint=instance.fingerprint
    )
    assert str(verify(instance, solution)) == "verified: no violation"


@settings(max_examples=40)
@given(awkward_instances())
def test_swaps_find_the_best_solution_of_small_instances(instance):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qpopt.search.local_search.MOST_SELECTIONS", 0)
        result = search(instance, step_limit=500)
    assert_valid(instance, result)
    assert result.complete == (sum(1 for _ in all_selections(instance)) == 1)
    best = brute_force(instance).objective
    assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_finds_the_planted_selection(seed):
    instance = generate(80, 20, 10, 3, structure="planted", seed=seed)
    result = search(instance, step_limit=1500, seed=seed)
    assert result.selection.tolist() == list(instance.provenance["planted"])


def test_the_same_seed_gives_the_same_result():
    instance = generate(100, 40, 12, 3, seed=5)
    one, other = (search(instance, step_limit=1500, seed=9) for _ in range(2))
    assert one.steps == other.steps == 1500
    assert one.selection.tolist() == other.selection.tolist()
    assert one.assignment.tolist() == other.assignment.tolist()
    assert [p.objective for p in one.trace] == [p.objective for p in other.trace]


def test_the_trace_rises_to_the_objective():
    instance = generate(100, 40, 12, 3, seed=5)
    told = []
    result = search(instance, step_limit=500, on_progress=told.append)
    assert tuple(told) == result.trace
    objectives = [point.objective for point in result.trace]
    assert objectives == sorted(set(objectives))
    assert objectives[-1] == result.objective


@pytest.mark.parametrize("limits", [{"time_limit": 0}, {"step_limit": 0}, {"target": -1e9}])
def test_the_smallest_limits_still_give_a_solution(limits):
    instance = generate(60, 20, 8, 3, seed=2)
    result = search(instance, **limits)
    assert result.steps == 0
    assert_valid(instance, result)


def test_a_target_ends_the_search():
    instance = generate(100, 40, 12, 3, seed=5)
    best = search(instance, step_limit=2000).objective
    result = search(instance, step_limit=100_000, target=best - 0.01)
    assert result.objective >= best - 0.01
    assert result.steps < 100_000


def test_several_threads_share_the_limit_and_the_best():
    instance = generate(100, 40, 12, 3, seed=5)
    result = search(instance, step_limit=1500, threads=3)
    assert result.steps == 1500
    assert_valid(instance, result)


def test_never_worse_than_the_start():
    instance = generate(100, 40, 12, 3, seed=5)
    start = search(instance, step_limit=500).selection
    result = search(instance, step_limit=0, start=start)
    assert result.selection.tolist() == start.tolist()
    mask = np.isin(np.arange(100), start)
    assert search(instance, step_limit=0, start=mask).selection.tolist() == start.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_returns_the_best_so_far(threads):
    instance = generate(100, 40, 12, 3, seed=5)
    points = []

    def interrupt(point):
        points.append(point)
        if len(points) == 2:
            raise KeyboardInterrupt

    result = search(instance, time_limit=60, threads=threads, on_progress=interrupt)
    assert result.interrupted
    assert result.objective >= points[1].objective
    assert_valid(instance, result)


def test_an_error_of_the_progress_function_is_not_hidden():
    def fail(point):
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        search(generate(60, 20, 8, 3, seed=2), step_limit=100, threads=2, on_progress=fail)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0, 1], "it has 2 features, n_select is 3"),
        ([1, 2, 4], "feature 0 must be included"),
        ([0, 1, 3], "feature 3 is excluded"),
    ],
)
def test_a_start_that_does_not_fit_is_explained(start, message):
    instance = Instance(np.eye(2, 6), np.zeros((6, 6)), np.zeros(6), 3, 1, include=[0], exclude=[3])
    with pytest.raises(qpopt.QpoptError, match=message):
        search(instance, step_limit=1, start=start)


@pytest.mark.parametrize(
    "limits", [{"time_limit": -1}, {"time_limit": float("nan")}, {"step_limit": -1}, {"threads": 0}]
)
def test_limits_out_of_range_are_refused(limits):
    with pytest.raises(qpopt.QpoptError, match=next(iter(limits))):
        search(generate(20, 4, 5, 2, seed=0), **limits)


def test_classes_with_the_same_row_use_up_all_sets():
    # 8 features give 56 sets of 3, one for each class; every feature is in 21 of them.
    instance = Instance(np.tile(np.arange(30.0), (56, 1)), np.zeros((30, 30)), np.zeros(30), 8, 3)
    result = search(instance, step_limit=300)
    assert result.selection.tolist() == list(range(22, 30))
    assert result.objective == 21 * sum(range(22, 30))


def test_patience_ends_a_search_that_no_longer_improves():
    instance = qpopt.generate(40, 10, 10, 3)
    result = search(instance, patience=0.3)
    assert result.seconds >= result.trace[-1].seconds + 0.3
    assert result.objective == search(instance, step_limit=result.steps).objective
    with pytest.raises(InvalidArgument, match="patience"):
        search(instance, patience=-1.0)
