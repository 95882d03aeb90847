"""Search, projected and bounds under demands, against trying everything."""

import pytest
from hypothesis import given, settings

from qpopt import Instance, Status, bound, solve, verify
from qpopt.errors import InvalidArgument
from qpopt.synthetic import generate
from tests.demanded import KINDS, TOGETHER, best_demanded, demanded, made

WITHOUT_SHORTCUTS = {"enumerate": False, "hand_over": False, "search_seconds": 0.0}


def compare(instance: Instance) -> None:
    """Let search, projected and bounds meet what trying everything gives."""
    best = best_demanded(instance)
    searched = solve(instance, method="search", options={"step_limit": 3000})
    ways = ({}, WITHOUT_SHORTCUTS)
    proven = [solve(instance, method="projected", options=way, time_limit=60) for way in ways]
    if best is None:
        assert searched.objective is None
        assert [one.status for one in proven] == [Status.INFEASIBLE] * len(ways)
        return
    close = pytest.approx(best.objective, abs=1e-6)
    for one in (searched, *proven):
        assert one.objective == close
        assert verify(instance, one), verify(instance, one)
    for one in proven:
        assert one.status is Status.OPTIMAL
        assert one.bound >= best.objective - 1e-6
    for kind in ("thresholds", "best"):
        assert bound(instance, kind=kind, time_limit=1).value >= best.objective - 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_every_demand(kind):
    @settings(max_examples=4)
    @given(drawn=demanded(kinds=[kind]))
    def check(drawn):
        if (instance := made(drawn)) is not None:
            compare(instance)

    check()


@pytest.mark.parametrize("kinds", TOGETHER, ids="+".join)
def test_every_two_demands(kinds):
    @settings(max_examples=2)
    @given(drawn=demanded(kinds=list(kinds), max_features=6, max_classes=3))
    def check(drawn):
        if (instance := made(drawn)) is not None:
            compare(instance)

    check()


@pytest.mark.slow
@settings(max_examples=300)
@given(drawn=demanded())
def test_many_demands_together(drawn):
    if (instance := made(drawn)) is not None:
        compare(instance)


@pytest.mark.parametrize("option", ["checkpoint"])
def test_options_without_a_place_for_demands_are_refused(option, tmp_path):
    plain = generate(12, 4, 5, 2)
    instance = Instance(plain.A, plain.R, plain.b, 5, 2, forbidden=[(0, 0)])
    with pytest.raises(InvalidArgument, match=f"no {option} with forbidden"):
        solve(instance, method="projected", options={option: tmp_path / "file"})


def test_a_number_of_pairs_among_many_classes_is_refused():
    plain = generate(40, 60, 10, 3)
    instance = Instance(plain.A, plain.R, plain.b, 10, 3, pairs=2)
    with pytest.raises(InvalidArgument, match="up to 50 classes"):
        solve(instance, method="projected")
    found = solve(instance, method="search", options={"step_limit": 20})
    assert verify(instance, found)
