"""Which pairs there are to check."""

from __future__ import annotations

import pytest

from qpopt import InvalidArgument, MissingSolver, available_solvers
from qpopt.selfcheck.cases import bundled
from qpopt.selfcheck.pairs import Job, Pair, usable_pairs

CASE = bundled(["alike-8x3"])[0]


def labels(*given):
    return [pair.label for pair in usable_pairs(CASE.instance, *given)]


def test_all_that_can_be_used_exact_ones_first():
    found = labels()
    assert found[:2] == ["projected", "projected, certified"]
    assert "search" in found
    assert {"compact with highs", "paper with highs"} <= set(found)
    assert "qcqp with highs" not in found
    usable = [name for name, info in available_solvers().items() if info.availability.usable]
    assert sum(label.startswith("compact with") for label in found) == len(usable)
    assert all(label.startswith(("search", "paper")) for label in found[-len(usable) - 1 :])


def test_names_choose_among_them():
    assert labels(["compact"], ["highs"]) == ["compact with highs"]
    assert labels([], ["highs"]) == ["compact with highs", "paper with highs"]
    assert labels(["search"]) == ["search"]
    assert labels(["search", "compact"], ["highs"]) == ["compact with highs", "search"]


def test_solvers_are_left_on_their_own():
    (pair,) = usable_pairs(CASE.instance, ["compact"], ["highs"])
    assert pair == Pair("compact", "highs", True, {"search_steps": 0})
    assert Job.of(Job(pair, CASE).record()) == Job(pair, CASE)


def test_what_cannot_be_is_said():
    with pytest.raises(InvalidArgument, match="no method called 'guess'"):
        labels(["guess"])
    with pytest.raises(MissingSolver, match="no solver called 'glpk'"):
        labels([], ["glpk"])
    with pytest.raises(InvalidArgument, match="None of these methods"):
        labels(["qcqp"], ["highs"])
