from __future__ import annotations

from benchmarks.studies.fuzz import fuzz


def test_a_plain_instance_is_compared_in_every_way():
    tally = fuzz(1, 0.0)
    assert tally[:2] == (1, 0)
    assert tally.solves >= 6
    assert (tally.bounds, tally.certificates) == (4, 2)
    assert tally.disagreements == ()


def test_so_is_one_with_demands():
    tally = fuzz(1, 0.0, first=1)
    assert tally[:2] == (1, 1)
    assert tally.solves >= 5
    assert (tally.bounds, tally.certificates) == (4, 0)
    assert tally.disagreements == ()
