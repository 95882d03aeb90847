"""Certificates under demands: what they show is true, and near what was found."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import Certificate, bound, check_certificate, generate, solve, verify
from qpopt.errors import InvalidCertificate
from qpopt.problem.assigning.relaxed import Multipliers
from tests.demanded import KINDS, best_demanded, demanded, made

DEMANDS = {
    "cells": {"forbidden": [(0, 1), (2, 4)], "required": [(1, 5)]},
    "uses": {"classes_per_feature": (1, 3)},
    "pairs": {"pairs": [(0, 2), (1, 3)]},
    "number": {"pairs": 2},
    "shared": {"max_shared": 1},
    "budget": {"budget": [1, 2, 3, 2]},
    "average": {"budget": {"least": 1, "most": 3}},
    "negative": {"negative": (1, 2.0)},
}


def wished(name):
    return generate(9, 4, 5, 2, seed=3).with_demands(**DEMANDS[name])


@pytest.mark.parametrize("kind", ["best", "semidefinite", "thresholds"])
@pytest.mark.parametrize("name", DEMANDS)
def test_the_certificate_of_a_bound_shows_it(name, kind, tmp_path):
    instance = wished(name)
    found = bound(instance, kind=kind, time_limit=1)
    found.certificate.save(tmp_path / "bound.npz")
    kept = Certificate.load(tmp_path / "bound.npz")
    shown = check_certificate(instance, kept)
    assert shown == check_certificate(instance, found.certificate)
    assert best_demanded(instance).objective <= shown <= found.value * (1 + 1e-6)


@pytest.mark.parametrize("name", DEMANDS)
def test_what_a_solve_adds_to_its_certificate_is_a_claim(name, tmp_path):
    instance = wished(name)
    solution = solve(instance, options={"certificate": tmp_path / "proof.npz"})
    certificate = Certificate.load(tmp_path / "proof.npz")
    outcome = verify(instance, solution, certificate=certificate)
    assert outcome, outcome
    assert outcome.bound_proven or set(outcome.rests_on) <= {"qpopt", "HiGHS"}
    assert outcome.shown >= best_demanded(instance).objective - 1e-9


@settings(max_examples=25, deadline=None)
@given(drawn=st.data())
def test_no_multipliers_show_less_than_the_optimum(drawn):
    """Whatever they are: the steps, too, are those of another instance."""
    instance = made(drawn.draw(demanded([drawn.draw(st.sampled_from(KINDS))], max_features=6)))
    if instance is None or (best := best_demanded(instance)) is None:
        return
    found = bound(instance, kind="best", time_limit=0.2).certificate
    values = st.floats(-20, 20)
    by = Multipliers(
        np.array(drawn.draw(st.lists(values, min_size=instance.n_features,
                                     max_size=instance.n_features))),
        drawn.draw(values),
        np.abs(drawn.draw(st.lists(values, min_size=instance.n_classes,
                                   max_size=instance.n_classes))),
    )  # fmt: skip
    forged = replace(found, multipliers=by, objective=-np.inf)
    assert check_certificate(instance, forged) >= best.objective - 1e-9


@pytest.mark.parametrize(
    "by",
    [
        None,
        (np.zeros(9), 0.0),
        Multipliers(np.zeros(8), 0.0, np.zeros(4)),
        Multipliers(np.zeros(9), 0.0, np.full(4, -1.0)),
        Multipliers(np.full(9, np.nan), 0.0, np.zeros(4)),
        Multipliers(np.zeros(9, np.float32), 0.0, np.zeros(4)),
        Multipliers(np.zeros(9), np.inf, np.zeros(4)),
        Multipliers(np.zeros(9), True, np.zeros(4)),
    ],
)
def test_multipliers_that_are_none_are_refused(by):
    instance = wished("negative")
    certificate = bound(instance, time_limit=0.2).certificate
    with pytest.raises(InvalidCertificate):
        check_certificate(instance, replace(certificate, multipliers=by))


def test_multipliers_without_demands_are_refused():
    instance = generate(9, 4, 5, 2, seed=3)
    certificate = bound(instance, time_limit=0.2).certificate
    by = Multipliers(np.zeros(9), 0.0, np.zeros(4))
    with pytest.raises(InvalidCertificate, match="no demands"):
        check_certificate(instance, replace(certificate, multipliers=by))


def test_only_the_multiplier_of_a_pair_may_be_negative():
    instance = wished("pairs")
    certificate = bound(instance, kind="best", time_limit=1).certificate
    other = instance.with_demands(pairs=[(0, 1), (2, 3)])
    moved = replace(certificate, fingerprint=other.fingerprint)
    groups = [group for step in certificate.steps for group in getattr(step, "groups", ())]
    assert {group.classes for group in groups} >= set(instance.pairs)
    assert min(min(group.sigma, group.given_sigma) for group in groups) < 0
    with pytest.raises(InvalidCertificate, match="negative multiplier"):
        check_certificate(other, moved)
