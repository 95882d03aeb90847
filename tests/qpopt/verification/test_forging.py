"""Forged certificates: whatever is changed, they are refused or prove no less than the optimum."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt import Certificate, Instance, InvalidCertificate, InvalidFile, bound, check_certificate
from qpopt.cuts.quadric import QuadricCut
from qpopt.cuts.thresholds import Group
from qpopt.relaxations.step import Step
from qpopt.verification.certificate_check import End, Split
from tests.brute_force import brute_force
from tests.qpopt.verification.forgeries import mutated_json, proves_nothing_false

SCALES = (1.0, 2.0**-40, 2.0**30)
N_CASES = 9


@cache
def case(number):
    """Return an instance, its optimum, and a certificate of a bound with removed features."""
    made = qpopt.generate(9, 4, 4, 2, seed=number)
    scale = SCALES[number % len(SCALES)]
    A = made.A.copy()
    A[1] = A[0]  # equal classes: distinct sets matter
    b = np.random.default_rng(number).uniform(-1, 1, 9)
    instance = Instance(A * scale, made.R * scale, b * scale, 4, 2, include=[number % 9])
    best = brute_force(instance).objective
    known = best - 1e-3 * abs(best) if number % 2 else None
    certificate = bound(instance, kind="semidefinite", time_limit=0.3, objective=known).certificate
    if not certificate.steps[0].groups:
        group = Group((0, 1), 0.5, np.array([A[0].max() * scale] * 2), 0.5 * scale)
        certificate = changed(certificate, groups=[group])
    return instance, best, certificate


def changed(certificate, **changes):
    """Return the certificate with its first step changed."""
    first, *rest = certificate.steps
    return replace(certificate, steps=(replace(first, **changes), *rest))


@pytest.mark.parametrize("number", range(N_CASES))
def test_certificates_as_they_are_prove_about_what_they_say(number):
    instance, best, certificate = case(number)
    proven = check_certificate(instance, certificate)
    assert best <= proven
    plain = bound(instance, kind="semidefinite", time_limit=0.3)
    again = check_certificate(instance, plain.certificate)
    size = abs(instance.A).sum()
    assert again == pytest.approx(plain.value, abs=1e-9 * size, rel=0)


def test_a_cube_of_multipliers_lowers_nothing():
    instance = qpopt.generate(20, 6, 5, 2, seed=1)
    certificate = bound(instance, kind="semidefinite", time_limit=0.5).certificate
    n = len(certificate.steps[0].free)
    cube = np.full((1, n, n), 3.0)
    forged = changed(certificate, cuts=[QuadricCut(0, (0,), ())], multipliers=cube)
    with pytest.raises(InvalidCertificate, match="multipliers must hold"):
        check_certificate(instance, forged)


@pytest.mark.parametrize(
    "classes", [(True, False), (0, True), (0, 0), (1,), (), (0, 4), (-1, 0), ("0", "1"), [0, 1]]
)
def test_classes_of_a_group_are_different_whole_numbers(classes):
    instance, _, certificate = case(0)
    group = Group(classes, 1.0, np.zeros(len(classes)), 0.0)
    with pytest.raises(InvalidCertificate, match=r"[Gg]roup"):
        check_certificate(instance, changed(certificate, groups=[group]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.5, 1.5, True, None, "1", 1])
@pytest.mark.parametrize("field", ["share", "sigma"])
def test_multipliers_of_groups_are_finite_and_not_negative(field, value):
    instance, best, certificate = case(0)
    group = certificate.steps[0].groups[0]._replace(**{field: value})
    assert proves_nothing_false(instance, changed(certificate, groups=[group]), best)


def test_a_share_that_is_no_number_leaves_no_class_out():
    instance, _, certificate = case(0)
    group = Group((0, 1), np.nan, np.zeros(2), 0.0)
    with pytest.raises(InvalidCertificate, match="multiplier"):
        check_certificate(instance, changed(certificate, groups=[group]))


@pytest.mark.parametrize("size", [1e-9, 1e-300, 1e150, 1e300, 1.7e308])
@pytest.mark.parametrize("number", range(3))
def test_huge_and_tiny_matrices_hide_nothing(number, size):
    instance, best, certificate = case(number)
    step = certificate.steps[0]
    n = len(step.free)
    rng = np.random.default_rng(number)
    for B in (
        np.full((n, n), -size),
        -size * np.eye(n),
        size * rng.normal(size=(n, n)).clip(-1, 1),
    ):
        B = np.triu(B) + np.triu(B, 1).T
        assert proves_nothing_false(instance, changed(certificate, B=B), best)
    for y in (np.full(n, size), size * rng.uniform(-1, 1, n)):
        assert proves_nothing_false(instance, changed(certificate, y=y, t=-size), best)
    points = np.full((len(step.removed), n), size)
    assert proves_nothing_false(instance, changed(certificate, points=points), best)


@pytest.mark.parametrize("number", range(N_CASES))
def test_every_single_feature_may_be_removed_or_forced_only_at_its_price(number):
    instance, best, certificate = case(number)
    step = certificate.steps[0]
    for d in step.free:
        one, nothing = np.array([d]), np.zeros(0, dtype=np.int64)
        for forged in (
            {"removed": one, "forced": nothing, "points": np.zeros((1, len(step.free)))},
            {"removed": nothing, "forced": one, "points": np.zeros((0, len(step.free)))},
            {"removed": one, "forced": one, "points": np.zeros((1, len(step.free)))},
        ):
            assert proves_nothing_false(instance, changed(certificate, **forged), best)


@pytest.mark.parametrize(
    "script",
    [
        (End(True),), (End(False),), (End("yes"),), (Split(True),), (Split(-1),), (Split(99),),
        (Split(0), End(True)), (Split(5), End(True), End(True)), (Split(5), Split(5)),
        (Split(5), Split(6), End(True), End(True), End(True)), (End(True), End(True)),
        (None,), ("step",), ((),), (3.5,),
    ],
)  # fmt: skip
def test_no_order_of_splits_and_ends_loses_a_selection(script):
    instance, best, certificate = case(0)
    assert proves_nothing_false(instance, replace(certificate, steps=script), best)
    mixed = replace(certificate, steps=(*script, *certificate.steps))
    assert proves_nothing_false(instance, mixed, best)


@pytest.mark.parametrize("field", ["fingerprint", "bound", "objective", "steps"])
@pytest.mark.parametrize("value", [None, True, 7, "x", float("nan"), float("inf"), [], {}])
def test_headers_of_other_types_are_refused(field, value):
    instance, best, certificate = case(0)
    assert proves_nothing_false(instance, replace(certificate, **{field: value}), best)


VALUES = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 1e-300, -1e-300, 1e9, -1e9, 1e300, -1e300, np.nan, np.inf, -np.inf]
)
ODD = (None, True, 3, -1.5, "text", [], (), {}, b"x", float("nan"), np.zeros((2, 2)), np.array("x"))


@st.composite
def mutated(draw, array):
    """Draw an array that differs from another: in a value, its shape, its type, or altogether."""
    kind = draw(st.sampled_from(["value", "scale", "shape", "type", "order", "odd", "less"]))
    array = np.array(array)
    if kind == "value" and array.size and array.dtype.kind in "fi":
        flat = array.copy().reshape(-1)
        place = draw(st.integers(0, flat.size - 1))
        value = draw(VALUES) if array.dtype.kind == "f" else draw(st.integers(-3, 12))
        with np.errstate(all="ignore"):
            flat[place] = value
        return flat.reshape(array.shape)
    if kind == "scale" and array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return array * draw(st.sampled_from([-1.0, 0.0, 0.5, 1.001, 2.0, 1e6]))
    if kind == "shape":
        flat = array.ravel()
        return draw(st.sampled_from([array[None], array[..., None], flat, flat[:1]]))
    if kind == "type" and array.dtype.kind in "fi":
        with np.errstate(all="ignore"):
            return array.astype(draw(st.sampled_from(["?", "f4", "i4", "i8", "u8", "c16", "O"])))
    if kind == "order" and array.ndim:
        return array[::-1]
    if kind == "less" and array.ndim:
        return array[1:]
    return draw(st.sampled_from(ODD))


@st.composite
def forgeries(draw, certificate):
    """Draw a certificate that differs in one to three places."""
    for _ in range(draw(st.integers(1, 3))):
        steps = list(certificate.steps)
        number = draw(st.integers(0, len(steps) - 1))
        step = steps[number]
        if not isinstance(step, Step) or draw(st.integers(0, 9)) == 0:
            item = draw(st.sampled_from([Split(3), End(True), End(False), step]))
            steps[number : number + draw(st.integers(0, 1))] = [item]
            certificate = replace(certificate, steps=tuple(steps))
            continue
        field = draw(st.sampled_from([one.name for one in fields(Step)]))
        value = getattr(step, field)
        if isinstance(value, np.ndarray):
            value = draw(mutated(value))
        elif field == "splits":
            inner = draw(st.sampled_from(value._fields)) if hasattr(value, "_fields") else None
            new = draw(mutated(getattr(value, inner))) if inner else None
            value = value._replace(**{inner: new}) if inner else new
        elif field == "t":
            value = draw(st.one_of(VALUES, st.sampled_from(ODD)))
        elif field == "groups" and isinstance(value, list) and value:
            name = draw(st.sampled_from(["classes", "share", "thresholds", "sigma"]))
            new = draw(mutated(getattr(value[0], name)))
            if name == "classes" and isinstance(new, np.ndarray) and new.ndim:
                new = tuple(new.tolist())
            if name in ("share", "sigma"):
                new = draw(st.one_of(VALUES, st.floats(0, 1)))
            value = [value[0]._replace(**{name: new}), *value[1:]]
        elif field == "cuts" and isinstance(value, list) and value:
            odd = [(0, (0,), (1,)), (2, (0, 1), ()), (0.5, (0,), ()), (1, (0, 0), ()), (0, 0, 0)]
            value = [draw(st.sampled_from([*odd, *ODD])), *value[1:]]
        else:
            value = draw(st.sampled_from(ODD))
        steps[number] = replace(step, **{field: value})
        certificate = replace(certificate, steps=tuple(steps))
    return certificate


@settings(max_examples=400)
@given(st.data())
def test_no_mutation_proves_less_than_the_optimum(data):
    instance, best, certificate = case(data.draw(st.integers(0, N_CASES - 1)))
    assert proves_nothing_false(instance, data.draw(forgeries(certificate)), best)


@cache
def saved(folder):
    """Return the arrays of a saved certificate."""
    path = folder / "proof.npz"
    case(1)[2].save(path)
    with np.load(path) as archive:
        return dict(archive)


@settings(max_examples=150)
@given(st.data())
def test_no_edited_file_raises_a_raw_error_or_proves_something_false(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    content = dict(saved(folder))
    name = data.draw(st.sampled_from(["meta", *sorted(content)]))
    if name == "meta":
        meta = json.loads(content["meta"].tobytes())
        text = json.dumps(data.draw(mutated_json(meta))).encode()
        content["meta"] = np.frombuffer(text, dtype=np.uint8)
    elif data.draw(st.booleans()):
        content[name] = np.asarray(data.draw(mutated(content[name])))
    else:
        del content[name]
    if any(array.dtype.kind == "O" for array in content.values()):
        return
    path = folder / "forged.npz"
    np.savez(path, **content)
    instance, best, _ = case(1)
    try:
        forged = Certificate.load(path)
    except InvalidFile:
        return
    assert proves_nothing_false(instance, forged, best)
