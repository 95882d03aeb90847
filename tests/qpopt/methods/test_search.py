import pytest

from qpopt import QpoptError, Status, generate, solve, verify
from qpopt.control import Phase
from tests.brute_force import brute_force


def test_gives_what_the_search_gives():
    instance = generate(60, 20, 8, 3, seed=2)
    told = []
    solution = solve(
        instance,
        method="search",
        seed=4,
        options={"step_limit": 400},
        progress=told.append,
    )
    assert verify(instance, solution)
    assert {event.phase for event in told} == {Phase.SEARCH}
    assert (solution.status, solution.bound, solution.seed) == (Status.FEASIBLE, None, 4)
    assert solution.details["steps"] == 400
    assert solution.trace == tuple(event.point for event in told[1:])


def test_what_is_tried_completely_is_proven():
    instance = generate(12, 6, 5, 2, seed=5)
    told = []
    solution = solve(instance, method="search", progress=told.append)
    assert verify(instance, solution)
    assert solution.status is Status.OPTIMAL
    assert solution.bound == solution.objective
    assert solution.objective == pytest.approx(brute_force(instance).objective, rel=1e-12)
    assert told[-1].point.bound == solution.bound


def test_starts_where_it_is_told():
    instance = generate(60, 20, 8, 3, seed=2)
    good = solve(instance, method="search", options={"step_limit": 400})
    again = solve(instance, method="search", start=good, options={"step_limit": 0})
    assert again.selection.tolist() == good.selection.tolist()


def test_a_target_ends_it():
    instance = generate(60, 20, 8, 3, seed=2)
    solution = solve(instance, method="search", options={"target": -1e9})
    assert solution.details["steps"] == 0


def test_an_interruption_is_told():
    instance = generate(60, 20, 8, 3, seed=2)

    def interrupt(event):
        if event.point.objective is not None:
            raise KeyboardInterrupt

    solution = solve(instance, method="search", time_limit=60, progress=interrupt)
    assert solution.status is Status.INTERRUPTED
    assert not [v for v in verify(instance, solution).violations if v.code != "status"]


def test_unknown_options_are_refused():
    with pytest.raises(QpoptError, match="step_limit, target"):
        solve(generate(20, 4, 5, 2), method="search", options={"steps": 3})
