"""solve, bound, certify and verify have one contract."""

from __future__ import annotations

from inspect import signature

import pytest

from qpopt import InvalidArgument, bound, certify, solve, verify
from qpopt.control import Event

VERBS = {
    "solve": lambda instance, solution, **options: solve(instance, **options),
    "bound": lambda instance, solution, **options: bound(instance, **options),
    "certify": certify,
    "verify": verify,
}


@pytest.mark.parametrize("verb", VERBS)
def test_progress_is_a_truth_value_or_a_function_of_events(capfd, toy, toy_best, verb):
    told: list[Event] = []
    VERBS[verb](toy, toy_best, progress=told.append)
    assert told
    assert all(isinstance(event, Event) for event in told)
    VERBS[verb](toy, toy_best, progress=True)
    assert capfd.readouterr() == ("", "")  # where there is no terminal
    with pytest.raises(InvalidArgument, match="progress must be True, False or a function, not 3"):
        VERBS[verb](toy, toy_best, progress=3)


@pytest.mark.parametrize("verb", [solve, bound, certify])
def test_the_default_of_the_time_limit_is_the_same(verb):
    assert signature(verb).parameters["time_limit"].default == 60.0


@pytest.mark.parametrize("verb", ["solve", "bound", "certify"])
def test_none_means_no_limit(toy, toy_best, verb):
    VERBS[verb](toy, toy_best, time_limit=None)
    with pytest.raises(InvalidArgument, match="time_limit must be a number of at least 0, not -1"):
        VERBS[verb](toy, toy_best, time_limit=-1)
