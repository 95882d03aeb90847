"""The public function: every kind against brute force, at every moment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt.control import Limits
from qpopt.control.incumbent import Incumbent
from qpopt.proofs.bound import KINDS, bound
from qpopt.proofs.driver import Proof
from qpopt.proofs.params import ProofParams, RootParams, Stage
from qpopt.proofs.phases.bounding import Root
from tests.awkward import awkward_instances
from tests.brute_force import brute_force, just_below


@settings(max_examples=40)
@given(awkward_instances(max_features=7), st.sampled_from(KINDS), st.booleans())
def test_never_below_the_optimum(instance, kind, informed):
    best = brute_force(instance).objective
    known = just_below(best) if informed else None
    found = bound(instance, kind=kind, time_limit=0.3, objective=known)
    slack = 1e-9 * max(1.0, abs(best))
    assert found.value >= best - slack
    assert all(point.bound >= best - slack for point in found.trace)
    assert found.kind == kind
    assert np.isfinite(found.value)
    assert found.value == found.trace[-1].bound


def test_no_time_still_gives_a_bound():
    instance = qpopt.generate(40, 6, 8, 3)
    for kind in KINDS:
        assert np.isfinite(bound(instance, kind=kind, time_limit=0).value)


def test_the_semidefinite_bound_beats_thresholds_where_features_are_redundant():
    instance = qpopt.generate(60, 10, 10, 3, seed=1)
    linear, cliques, semidefinite = (
        bound(instance, kind=kind, time_limit=120).value
        for kind in ("thresholds", "cliques", "semidefinite")
    )
    assert semidefinite < linear - 0.01 * abs(linear)
    assert cliques <= linear + 1e-6 * abs(linear)


def test_an_interruption_returns_what_is_proven():
    def interrupt(event):
        if event.point.bound is not None:
            raise KeyboardInterrupt

    found = bound(qpopt.generate(40, 6, 8, 3), progress=interrupt)
    assert found.interrupted
    assert np.isfinite(found.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "magic"}, "kind must be one of"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"objective": np.nan}, "objective must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(qpopt.InvalidArgument, match=message):
        bound(qpopt.generate(20, 4, 6, 2), **arguments)


def test_growing_candidate_sets_are_not_taken_for_a_standstill():
    instance = qpopt.generate(50, 6, 8, 3, seed=2)
    at_once = bound(instance, kind="semidefinite", time_limit=60)
    long = Stage(1.0, ProofParams().to_the_end.rounds + 3, 0.0)
    stages = RootParams(first=15, first_per_selected=0.0, stages=(long,))
    incumbent = Incumbent(instance, Limits(60))
    Proof(incumbent, params=ProofParams(root=stages)).run([Root(branches=False)])
    assert incumbent.bound == pytest.approx(at_once.value, rel=1e-3)
