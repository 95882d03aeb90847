"""Certificates: saved, loaded, checked by code of their own, and refused when wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt import Certificate, InvalidCertificate, InvalidFile, bound, check_certificate
from qpopt.cuts.families import Family
from qpopt.cuts.group_cuts import Group
from qpopt.cuts.quadric import QuadricCut
from qpopt.proofs.params import RootParams, Stage
from qpopt.proofs.record import Record
from qpopt.proofs.root import RootBound
from qpopt.verification.certificate_check import End
from qpopt.verification.step_bounds import step_bounds
from tests.awkward import awkward_instances
from tests.brute_force import brute_force, just_below


@settings(max_examples=30)
@given(awkward_instances(max_features=7), st.booleans())
def test_the_check_agrees_and_is_valid(instance, informed):
    best = brute_force(instance).objective
    known = just_below(best) if informed else None
    found = bound(instance, kind="semidefinite", time_limit=0.2, objective=known)
    checked = check_certificate(instance, found.certificate)
    scale = max(1.0, abs(best))
    assert checked >= best - 1e-9 * scale
    assert checked <= found.value + 1e-6 * scale


@pytest.fixture(scope="module")
def proof():
    instance = qpopt.generate(50, 8, 8, 3, seed=2)
    return instance, bound(instance, kind="semidefinite", time_limit=3).certificate


def test_saved_and_loaded(proof, tmp_path):
    instance, certificate = proof
    certificate.save(tmp_path / "proof.npz")
    again = Certificate.load(tmp_path / "proof.npz")
    assert again.bound == certificate.bound
    assert check_certificate(instance, again) == check_certificate(instance, certificate)
    assert check_certificate(instance, again) == pytest.approx(certificate.bound, rel=1e-6)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InvalidFile, match="does not exist"):
        Certificate.load(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(InvalidFile, match="not a qpopt certificate"):
        Certificate.load(tmp_path / "text.npz")


def test_another_instance_is_refused(proof):
    _, certificate = proof
    with pytest.raises(InvalidCertificate, match="another instance"):
        check_certificate(qpopt.generate(50, 8, 8, 3, seed=3), certificate)


def test_a_step_that_leaves_out_features_is_refused(proof):
    instance, certificate = proof
    step = certificate.steps[0]
    shorter = replace(
        step,
        free=step.free[1:],
        y=step.y[1:],
        B=step.B[1:, 1:],
        splits=step.splits._replace(feature=np.full(len(step.splits.classes), -1)),
        groups=[],
        cuts=[],
        multipliers=np.zeros(0),
        points=np.zeros((0, 49)),
    )
    with pytest.raises(InvalidCertificate, match="leaves out"):
        check_certificate(instance, replace(certificate, steps=(shorter,)))


def test_a_removal_without_a_reason_costs_what_it_sets_aside(proof):
    instance, certificate = proof
    first = certificate.steps[0]
    best = qpopt.solve(instance, method="search", time_limit=0.5)
    for d in best.selection:
        for point in (np.zeros((1, 50)), np.full((1, 50), 8 / 50)):
            step = replace(first, removed=np.array([d]), points=point)
            forged = replace(certificate, steps=(step,), objective=0.0)
            assert check_certificate(instance, forged) >= best.objective
    step = replace(first, removed=first.free[:1], points=np.full((1, 50), -1.0))
    with pytest.raises(InvalidCertificate, match="negative coordinate"):
        check_certificate(instance, replace(certificate, steps=(step,), objective=0.0))


def test_features_removed_by_points_are_checked(tmp_path):
    instance = qpopt.generate(60, 8, 8, 3, seed=1)
    best = qpopt.solve(instance, method="search", time_limit=0.5).objective
    record = Record(instance)
    root = RootBound(instance, record=record.root)
    root.know(best)
    while not any(step.points.any() for step, _ in record.root.steps):
        root.advance()
    Certificate.of(record, root.objective).save(tmp_path / "proof.npz")
    again = Certificate.load(tmp_path / "proof.npz")
    assert check_certificate(instance, again) == pytest.approx(root.bound, rel=1e-6)
    needed = next(step for step in again.steps if step.points.any())
    rows_only = replace(needed, points=np.zeros_like(needed.points))
    by_points, by_rows = step_bounds(instance, needed), step_bounds(instance, rows_only)
    assert all(by_points.with_feature[d] <= best for d in needed.removed)
    assert any(by_rows.with_feature[d] > best for d in needed.removed)


def test_negative_multipliers_and_wrong_shares_are_refused(proof):
    instance, certificate = proof
    step = certificate.steps[0]
    negative = replace(step, cuts=[QuadricCut(0, (1, 2), (0,))], multipliers=np.array([-1.0]))
    with pytest.raises(InvalidCertificate, match="non-negative"):
        check_certificate(instance, replace(certificate, steps=(negative,)))
    short = replace(step, splits=step.splits._replace(shares=0.5 * step.splits.shares))
    with pytest.raises(InvalidCertificate, match="add up to 1"):
        check_certificate(instance, replace(certificate, steps=(short,)))


def test_no_steps_prove_nothing(proof):
    instance, certificate = proof
    assert check_certificate(instance, replace(certificate, steps=())) == np.inf


def test_a_wrong_matrix_costs_its_deficit(proof):
    instance, certificate = proof
    step = certificate.steps[0]
    B = step.B - 0.1 * np.eye(len(step.B))
    worse = check_certificate(instance, replace(certificate, steps=(replace(step, B=B),)))
    # The diagonal loses 0.1 on each of the selected rows, and the deficit gives at least that back.
    assert worse >= check_certificate(instance, certificate) - 1e-6


def test_a_matrix_far_from_definite_is_checked_closely():
    instance = qpopt.generate(50, 6, 8, 3, seed=2)
    few = RootParams(first=12, first_per_selected=0.0, stages=(Stage(1.0, 2, 0.0),))
    record = Record(instance)
    hasty = RootBound(instance, params=few, record=record.root)
    hasty.advance()
    hasty.finish()
    checked = check_certificate(instance, Certificate.of(record, hasty.objective))
    assert checked == pytest.approx(hasty.bound, rel=1e-7)


def forged(certificate, **changes):
    """Return the certificate with its first step changed."""
    first, *rest = certificate.steps
    return replace(certificate, steps=(replace(first, **changes), *rest))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"B": np.array([[-1e3]])}, "B must hold finite numbers of the shape"),
        ({"y": np.zeros(1)}, "y must hold finite numbers"),
        ({"y": np.full(50, "x")}, "y must hold finite numbers"),
        ({"y": np.full(50, np.nan)}, "y must hold finite numbers"),
        ({"points": np.zeros((1, 50))}, "points must hold finite numbers of the shape"),
        ({"t": -np.inf}, "t must be finite"),
        ({"included": np.array([0, 0])}, "included names a feature twice"),
        ({"included": np.array([-1])}, "included names one that does not exist"),
        ({"removed": np.array([50])}, "removed names one that does not exist"),
        ({"forced": np.array([[1]])}, "forced is no list of whole numbers"),
    ],
)
def test_arrays_of_another_shape_prove_nothing(proof, changes, message):
    instance, certificate = proof
    with pytest.raises(InvalidCertificate, match=message):
        check_certificate(instance, forged(certificate, **changes))


@pytest.mark.parametrize(
    ("classes", "thresholds"), [((0, 1), [5.0]), ((0, -8), [1.0, 1.0]), ((0, 99), [1.0, 1.0])]
)
def test_groups_of_classes_must_be_complete(proof, classes, thresholds):
    instance, certificate = proof
    group = Group(classes, 1.0, np.array(thresholds), 0.0)
    with pytest.raises(InvalidCertificate, match="one threshold for each of its classes"):
        check_certificate(instance, forged(certificate, groups=[group]))


@pytest.mark.parametrize(
    ("feature", "given", "message"),
    [(99, [1.0, 1.0], "does not exist"), (-2, [1.0, 1.0], "does not exist"), (0, [], "threshold")],
)
def test_a_split_group_needs_its_feature_and_all_thresholds(proof, feature, given, message):
    instance, certificate = proof
    group = Group((0, 1), 1.0, np.ones(2), 0.0, feature, np.array(given), 0.0)
    with pytest.raises(InvalidCertificate, match=message):
        check_certificate(instance, forged(certificate, groups=[group]))


@pytest.mark.parametrize(
    ("core", "prices", "most", "message"),
    [
        ([0, 0], [1.0, 1.0], 0.0, "twice"),
        ([0, 99], [1.0, 1.0], 0.0, "does not exist"),
        ([0, 1], [1.0], 0.0, "shape"),
        ([0], [-1.0], 0.0, "negative"),
        ([0], [1.0], -1.0, "negative"),
        ([0], [np.nan], 0.0, "finite"),
        ([0], [1.0], np.inf, "negative"),
        (list(range(4)) * 5, [1.0] * 20, 0.0, "twice"),
    ],
)
def test_families_must_be_small_and_complete(proof, core, prices, most, message):
    instance, certificate = proof
    family = Family(np.array(core, dtype=np.int64), np.array(prices), most)
    for sides in ((family, None), (None, family)):
        group = Group((0, 1), 1.0, np.ones(2), 0.0, 0, np.ones(2), 0.0, *sides)
        with pytest.raises(InvalidCertificate, match=message):
            check_certificate(instance, forged(certificate, groups=[group]))


@pytest.mark.parametrize("family", [5, (), (1, 2), [np.zeros(0, dtype=np.int64), np.zeros(0), 0.0]])
def test_what_is_no_family_is_refused(proof, family):
    instance, certificate = proof
    group = Group((0, 1), 1.0, np.ones(2), 0.0, family=family)
    with pytest.raises(InvalidCertificate, match="A family needs"):
        check_certificate(instance, forged(certificate, groups=[group]))


def test_families_are_saved_as_they_are(proof, tmp_path):
    _, certificate = proof
    family = Family(np.array([0, 2]), np.array([0.25, 1.5]), 0.125)
    group = Group((0, 1), 0.5, np.ones(2), 0.0, 0, np.zeros(2), 2.0, None, family)
    forged(certificate, groups=[group]).save(tmp_path / "one.npz")
    (again,) = Certificate.load(tmp_path / "one.npz").steps[0].groups
    assert again.family is None
    assert again.given_family.core.tolist() == [0, 2]
    assert again.given_family.prices.tolist() == [0.25, 1.5]
    assert again.given_family.most == 0.125


def test_all_features_selected_must_really_be_all(toy):
    everything = qpopt.Instance(toy.A, toy.R, toy.b, 4, 2)
    certificate = bound(everything, kind="semidefinite", time_limit=1).certificate
    assert certificate.steps == (End(enumerated=True),)
    assert check_certificate(everything, certificate) == pytest.approx(7 + 7 - 2.5 + 1.0, rel=1e-12)
    step = bound(toy, kind="semidefinite", time_limit=1).certificate.steps[0]
    for included in ([0, 0, 0, 0], [0, 1], [0, 1, 2, 3]):
        about_it = replace(step, included=np.array(included), free=np.zeros(0, np.int64))
        with pytest.raises(InvalidCertificate):
            check_certificate(everything, replace(certificate, steps=(about_it,)))
