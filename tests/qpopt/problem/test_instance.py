import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from qpopt import InfeasibleInstance, Instance, InvalidInstance, QpoptError
from tests.strategies import instances

A = np.arange(8.0).reshape(2, 4)
R = np.zeros((4, 4))
B = np.zeros(4)


def with_entry(array, where, value):
    changed = array.copy()
    changed[where] = value
    return changed


def symmetric(d, e, value):
    return with_entry(with_entry(R, (d, e), value), (e, d), value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((A[0], R, B, 3, 2), r"A must be a matrix .* shape is \(4,\)"),
        ((np.zeros((0, 4)), R, B, 3, 2), "at least one"),
        ((A, R[:3], B, 3, 2), r"R must be 4 × 4.*\(3, 4\)"),
        ((A, R, B[:2], 3, 2), r"b must hold one value .* 4 features.*\(2,\)"),
        ((with_entry(A, (1, 2), np.nan), R, B, 3, 2), r"A\[1, 2\] is nan"),
        ((A, R, with_entry(B, 3, np.inf), 3, 2), r"b\[3\] is inf"),
        ((A, symmetric(0, 1, np.inf), B, 3, 2), r"R\[0, 1\] is inf"),
        ((A, with_entry(R, (0, 2), 1.0), B, 3, 2), r"not symmetric: R\[0, 2\] is 1 but R\[2, 0\]"),
        ((A, symmetric(1, 3, -0.5), B, 3, 2), r"R\[1, 3\] is -0.5"),
        ((A, with_entry(R, (2, 2), 1.0), B, 3, 2), r"R\[2, 2\] is 1.*diagonal"),
        ((A, R, B, 3.0, 2), "n_select must be a whole number"),
        ((A, R, B, 3, 0), "n_per_class must be a whole number of at least 1"),
        (([["x"] * 4] * 2, R, B, 3, 2), "A must hold numbers"),
        ((A + 1j, R, B, 3, 2), "A must hold numbers, not complex"),
        ((A.astype("datetime64[s]"), R, B, 3, 2), "A must hold numbers, not datetime"),
        (([[10**400] * 4] * 2, R, B, 3, 2), "A must hold numbers"),
        (([[1.0], [1.0, 2.0]], R, B, 3, 2), "A must hold numbers"),
        ((np.ma.masked_array(A, A > 5), R, B, 3, 2), "masked"),
        ((1e200 * A, R, B, 3, 2), "must be finite and of a size"),
        ((A, symmetric(0, 1, 1.0) + with_entry(R, (0, 1), 1e-6), B, 3, 2), "not symmetric"),
    ],
)
def test_invalid_data(arguments, message):
    with pytest.raises(InvalidInstance, match=message) as caught:
        Instance(*arguments)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, QpoptError)
    assert not isinstance(caught.value, InfeasibleInstance)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((A, R, B, 5, 2), {}, "n_select is 5.* 4 features"),
        ((A, R, B, 3, 4), {}, "n_per_class is 4.* n_select = 3"),
        ((np.zeros((4, 4)), R, B, 3, 2), {}, "give 3 distinct sets, fewer than the 4 classes"),
        ((A, R, B, 2, 1), {"include": [0, 1, 2]}, "include names 3 features"),
        ((A, R, B, 3, 2), {"exclude": [0, 1]}, "exclude leaves 2 of 4"),
        ((A, R, B, 3, 2), {"exclude": [1], "include": [1]}, "Feature 1 is both"),
    ],
)
def test_no_solution_possible(arguments, keywords, message):
    with pytest.raises(InfeasibleInstance, match=message):
        Instance(*arguments, **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"class_names": ["a"]}, "class_names must hold 2"),
        ({"feature_names": "abcd"}, "feature_names must hold 4"),
        ({"class_names": 5}, "class_names must hold 2"),
        ({"provenance": [1]}, "provenance must be a mapping"),
        ({"provenance": {"x": float("nan")}}, "provenance must be a mapping"),
        ({"include": [4]}, "include names feature 4"),
        ({"exclude": [1, 1]}, "exclude names a feature twice"),
        ({"include": ["x"]}, "include must hold feature indices"),
        ({"provenance": {"f": print}}, "provenance"),
    ],
)
def test_invalid_options(keywords, message):
    with pytest.raises(InvalidInstance, match=message):
        Instance(A, R, B, 3, 2, **keywords)


@given(instances())
def test_properties(instance):
    assert instance.A.shape == (instance.n_classes, instance.n_features)
    for array in (instance.A, instance.R, instance.b):
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    pairs, values = instance.redundant_pairs()
    rebuilt = np.zeros_like(instance.R)
    rebuilt[pairs[:, 0], pairs[:, 1]] = values
    np.testing.assert_array_equal(rebuilt + rebuilt.T, instance.R)
    copy = pickle.loads(pickle.dumps(instance))
    assert copy == instance
    assert copy.provenance == instance.provenance


def test_immutable_and_independent_of_its_input(toy):
    source = np.ones((2, 4))
    instance = Instance(source, R, B, 3, 2)
    source[0, 0] = 5.0
    assert instance.A[0, 0] == 1.0
    with pytest.raises(FrozenInstanceError):
        instance.n_select = 2
    with pytest.raises(TypeError):
        toy.provenance["new"] = 1
    nested = Instance(A, R, B, 3, 2, provenance={"clique": [1, 2], "more": {"x": [3]}})
    assert nested.provenance == {"clique": (1, 2), "more": {"x": (3,)}}


@given(instances(), st.data())
def test_any_change_of_content_changes_the_fingerprint(instance, data):
    arguments = {
        "A": instance.A.copy(),
        "R": instance.R.copy(),
        "b": instance.b.copy(),
        "n_select": instance.n_select,
        "n_per_class": instance.n_per_class,
    }
    fixed = {"include": instance.include, "exclude": instance.exclude}
    same = Instance(**arguments, **fixed, name="renamed", provenance={"x": 1})
    assert same.fingerprint == instance.fingerprint
    assert hash(same) == hash(instance)
    c = data.draw(st.integers(0, instance.n_classes - 1))
    d = data.draw(st.integers(0, instance.n_features - 1))
    arguments["A"][c, d] = np.nextafter(arguments["A"][c, d], 100)
    assert Instance(**arguments, **fixed) != instance


def test_included_and_excluded_features_are_content():
    plain, included, excluded = (
        Instance(A, R, B, 2, 1, **fixed) for fixed in ({}, {"include": [1]}, {"exclude": [1]})
    )
    assert len({plain.fingerprint, included.fingerprint, excluded.fingerprint}) == 3


def test_fingerprint_is_the_same_on_every_machine(toy):
    # SHA-256 of the header and of A, b, pairs, values as little-endian bytes, put together by hand.
    import hashlib
    import struct

    header = b"qpopt instance 1 [[2, 4, 3, 2], [], []]"
    numbers = [4, 3, 1, 2, 1, 3, 4, 2, 0.1, 0.2, 0.3, 0.4]
    content = header + struct.pack("<12d", *numbers) + struct.pack("<2qd", 0, 1, 2.5)
    assert toy.fingerprint == hashlib.sha256(content).hexdigest()


def test_a_hint_is_kept_compared_and_leaves_solutions_valid(tmp_path, toy):
    plain, hinted = (Instance(A, R, B, 3, 2, hint=hint) for hint in ((), [3, 0, 1]))
    assert hinted.hint == (0, 1, 3)
    assert hinted != plain
    assert hinted.fingerprint == plain.fingerprint
    hinted.save(tmp_path / "i.npz")
    for copy in (Instance.load(tmp_path / "i.npz"), pickle.loads(pickle.dumps(hinted))):
        assert copy == hinted
        assert copy.hint == hinted.hint
    for wrong in ([4], [1, 1], ["a"]):
        with pytest.raises(InvalidInstance, match="hint"):
            Instance(A, R, B, 3, 2, hint=wrong)


def test_the_redundancy_graph_has_features_and_redundant_pairs(toy):
    graph = toy.redundancy_graph()
    assert dict(graph.nodes(data="name")) == {0: "0", 1: "1", 2: "2", 3: "3"}
    assert list(graph.edges(data="weight")) == [(0, 1, 2.5)]


def test_negative_zero_counts_as_zero():
    assert Instance(-0.0 * A, R, B, 3, 2) == Instance(0.0 * A, R, B, 3, 2)


def test_takes_sparse_redundancy_and_evens_out_rounding(toy):
    sparse = Instance(toy.A, scipy.sparse.csr_array(toy.R), toy.b, 3, 2)
    assert sparse == toy
    nearly = toy.R.copy()
    nearly[1, 0] *= 1 + 1e-12
    assert Instance(toy.A, nearly, toy.b, 3, 2) == toy


def test_repr_and_names(toy):
    assert repr(toy) == "Instance('toy', 2 classes × 4 features, select 3, 2 per class)"
    assert toy.class_name(1) == "finch"
    assert toy.feature_name(2) == "2"
    fixed = Instance(toy.A, toy.R, toy.b, 3, 2, include=[1], exclude=[0])
    assert "include 1, exclude 1" in repr(fixed)
