"""The pace of a root bound, by a clock that stands where it is put."""

from __future__ import annotations

import pytest

from qpopt.control.limits import Limits
from qpopt.proofs.pace import Pace
from qpopt.proofs.params import RootParams, Stage


class Stopped:
    """A clock of a hundred seconds that is moved by hand."""

    def __init__(self, seconds=0.0, limit=100.0):
        self.seconds, self.limit = seconds, limit

    @property
    def remaining(self):
        return None if self.limit is None else self.limit - self.seconds

    def share(self, part, most):
        return Limits(min(most, part * self.remaining))


def pace(n_free=2048, **values):
    return Pace(RootParams(first=100, first_per_selected=0.0, **values), 50, n_free)


def test_proofs_take_a_tenth_of_the_time():
    root, clock = pace(), Stopped(20.0)
    assert root.proof_is_due(clock, 2048)
    root.proven(2.0, clock)
    clock.seconds = 39.9
    assert not root.proof_is_due(clock, 2048)
    assert root.proof_is_due(clock, 300)
    clock.seconds = 40.0
    assert root.proof_is_due(clock, 2048)


@pytest.mark.parametrize(
    ("timed", "round_", "needed"),
    [(None, False, 1.1 * 3.5 * 0.5), (1.0, False, 1.1 * 1.25), (1.0, True, 1.1 * 2.0)],
)
def test_time_is_kept_for_the_last_proof(timed, round_, needed):
    """Steps of half a second; a proof counts as three of them until one has been timed."""
    root, clock = pace(), Stopped()
    root.stepped(5.0, 10, 100)
    if timed:
        root.proven(timed, clock)
    clock.seconds = 100.0 - needed - 1e-6
    assert not root.time_to_end(clock, 100, round_=round_)
    clock.seconds += 2e-6
    assert root.time_to_end(clock, 100, round_=round_)
    assert not root.time_to_end(Stopped(limit=None), 100, round_=round_)


def test_sets_that_would_hold_most_features_are_left_out():
    stages = (Stage(1.0, 2, 0.0), Stage(2.0, 1, 0.5), Stage(4.0, 1, 0.5))
    root, clock = pace(n_free=400, stages=stages), Stopped()
    assert [root.next_stage(clock).size for _ in range(2)] == [100.0, 200.0]
    assert root.next_stage(clock) is None
    assert root.stage is None


def test_a_stage_has_its_rounds_then_its_share_of_the_time():
    root, clock = pace(stages=((1.0, 2, 0.5),), standstill=(100, 0.0)), Stopped()
    root.next_stage(clock)
    assert not root.settled(5.0)
    assert root.settled(4.0)
    clock.seconds = 49.9
    assert not root.stage_is_over(clock)
    clock.seconds = 50.0
    assert root.stage_is_over(clock)


def test_a_stage_that_stands_still_is_over():
    root, clock = pace(stages=((1.0, 1, 0.9),), standstill=(3, 0.01)), Stopped()
    root.next_stage(clock)
    for estimate, over in ((9.0, False), (5.0, False), (5.0, False), (5.0, False), (5.0, True)):
        root.settled(estimate)
        assert root.stage_is_over(clock) is over


def test_what_more_features_take_grows_faster_than_they_do():
    root, clock = pace(), Stopped()
    root.stepped(0.1, 10, 300)  # 16 of them, 2^2.2 = 4.595 times as long each, take 0.735 s
    clock.seconds = 99.26
    assert not root.too_late(clock, 600)
    clock.seconds = 99.27
    assert root.too_late(clock, 600)
    assert not root.too_late(Stopped(limit=None), 600)
