import logging

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qpopt import Average, InfeasibleInstance, InvalidInstance, generate, prepare, redundancy
from tests.strategies import raw_similarities


@given(raw_similarities(), st.data())
def test_every_step_of_the_specification(A, data):
    n_classes, n_features = A.shape
    n_select = data.draw(st.integers(1, n_features))
    b = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n_features, max_size=n_features)))
    weight = data.draw(st.sampled_from([0.0, 1.0, 2.0]))
    n_per_class = max(1, n_select // 2)
    try:
        instance = prepare(
            A, b, n_select=n_select, n_per_class=n_per_class, redundancy=weight, bias_scale=0.5
        )
    except InfeasibleInstance:
        assume(False)
    origin = instance.provenance
    cosine = redundancy(A)
    kept = np.where(cosine < origin["epsilon"], 0.0, cosine)
    if kept.any():
        np.testing.assert_allclose(instance.R, kept / kept.max() * weight, rtol=1e-12)
    else:
        assert not instance.R.any()
    clique = origin["clique"]
    assert len(clique) == n_select
    assert origin["epsilon_proven"] is True
    if kept.any():
        assert origin["redundancy_factor"] == pytest.approx(weight / kept.max())
    assert (origin["redundancy"], origin["bias_scale"]) == (weight, 0.5)
    assert instance.objective(clique).redundancy == 0.0
    if A.any():
        largest = 1000 / (n_per_class * n_classes)
        assert np.abs(instance.A).max() == pytest.approx(largest)
        np.testing.assert_allclose(instance.A, A * origin["similarity_factor"], rtol=1e-12)
    assert origin["zero_features"] == tuple(d for d in range(n_features) if not A[:, d].any())
    if instance.b.any():
        assert np.abs(instance.b).max() == pytest.approx(0.5)


def test_the_clique_is_free_of_redundancy_where_cosines_are_neighbouring_numbers():
    # The cosine of the first two features is 1, that of the last two the number before it.
    A = np.array([[1.0, 1.0, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]])
    instance = prepare(A, n_select=3, n_per_class=1)
    assert instance.objective(instance.provenance["clique"]).redundancy == 0.0
    assert instance.R.any()


def test_default_bias_scale_and_no_bias():
    A = np.random.default_rng(0).standard_normal((3, 9))
    with_bias = prepare(A, np.arange(9), n_select=4, n_per_class=2)
    assert np.abs(with_bias.b).max() == pytest.approx(1 / np.sqrt(10))
    assert not prepare(A, n_select=4, n_per_class=2).b.any()


def test_given_epsilon_and_none():
    A = np.random.default_rng(0).standard_normal((3, 9))
    cosine = redundancy(A)
    for epsilon in (None, 0.5, 10.0):
        said = {"epsilon_proven": True}
        instance = prepare(A, n_select=4, n_per_class=2, epsilon=epsilon, provenance=said)
        wanted = cosine >= (0 if epsilon is None else epsilon)
        np.testing.assert_array_equal(instance.R > 0, wanted & (cosine > 0))
        assert instance.provenance["epsilon"] == epsilon
        assert not {"clique", "epsilon_proven"} & set(instance.provenance)


def test_included_features_are_in_the_clique():
    A = np.random.default_rng(0).standard_normal((4, 20))
    instance = prepare(A, n_select=6, n_per_class=2, include=[3, 11], exclude=[0, 1, 2])
    clique = set(instance.provenance["clique"])
    assert {3, 11} <= clique
    assert not clique & {0, 1, 2}
    assert instance.include == (3, 11)
    assert instance.exclude == (0, 1, 2)


def test_the_hint_is_the_one_given_or_the_clique():
    A = np.eye(3, 4)
    assert prepare(A, n_select=3, n_per_class=1, epsilon=0.5).hint == ()
    assert prepare(A, n_select=3, n_per_class=1, epsilon=0.5, hint=[2, 0, 3]).hint == (0, 2, 3)
    assert prepare(A, n_select=3, n_per_class=1, hint=[2, 0, 3]).hint == (0, 2, 3)
    instance = prepare(A, n_select=3, n_per_class=1)
    assert instance.hint == instance.provenance["clique"]
    assert len(instance.hint) == 3


def test_provenance_of_the_caller_is_kept():
    A = np.eye(3)
    claims = {"from": "here", "clique": [0], "seed": 1}
    instance = prepare(A, n_select=3, n_per_class=1, seed=7, epsilon=0.5, provenance=claims)
    assert instance.hint == ()
    assert instance.provenance["from"] == "here"
    assert instance.provenance["seed"] == 7


def test_names_are_kept():
    names = {"class_names": ["a", "b", "c"], "feature_names": ["x", "y", "z"], "name": "mine"}
    instance = prepare(np.eye(3), n_select=3, n_per_class=1, **names)
    assert instance.class_names == ("a", "b", "c")
    assert instance.feature_names == ("x", "y", "z")
    assert instance.name == "mine"


def test_outliers_of_the_bias_are_recorded():
    A = np.random.default_rng(0).standard_normal((3, 10))
    raw = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 100])
    origin = prepare(A, raw, n_select=4, n_per_class=2, bias_scale=2.0).provenance
    assert origin["bias_outliers"] == (9,)
    assert origin["bias_factor"] == pytest.approx(2.0 / 8.55)


def test_extreme_scales():
    A = np.random.default_rng(0).standard_normal((3, 9))
    usual = prepare(A, np.arange(9), n_select=4, n_per_class=2)
    for scale in (1e-200, 1e90):
        other = prepare(A * scale, np.arange(9) * scale, n_select=4, n_per_class=2)
        np.testing.assert_allclose(other.A, usual.A, rtol=1e-12)
        np.testing.assert_allclose(other.b, usual.b, rtol=1e-12)
    vanishing = prepare(A * 1e-310, np.arange(9) * 1e-310, n_select=4, n_per_class=2)
    assert np.isfinite(vanishing.A).all()


def test_zero_features_are_counted_in_a_warning(caplog):
    A = np.ones((3, 5)) * [1, 1, 1, 0, 0]
    with caplog.at_level(logging.WARNING, logger="qpopt"):
        prepare(A, n_select=3, n_per_class=1)
    assert "2 features" in caplog.text
    assert "2 of them are in the clique" in caplog.text


def test_a_bias_that_clipping_flattens_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING, logger="qpopt"):
        instance = prepare(np.eye(3, 12), [0.0] * 11 + [1.0], n_select=3, n_per_class=1)
    assert "bias does not vary" in caplog.text
    assert not instance.b.any()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"epsilon": "none"}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"epsilon": np.array([0.1, 0.2])}, "epsilon must be"),
        ({"bias_scale": 10**400}, "bias_scale must be"),
        ({"provenance": [1]}, "provenance must be"),
        ({"bias_scale": -1.0}, "bias_scale must be"),
        ({"redundancy": float("inf")}, "redundancy must be"),
        ({"b": [1.0]}, "b must hold"),
        ({"seed": -1}, "seed must be"),
        ({"n_select": 6}, "n_select is 6"),
    ],
)
def test_bad_arguments(keywords, message):
    arguments = {"n_select": 3, "n_per_class": 1, **keywords}
    with pytest.raises(InvalidInstance, match=message):
        prepare(np.eye(3, 5), **arguments)


def test_nan_is_named():
    with pytest.raises(InvalidInstance, match=r"A\[0, 2\] is nan"):
        prepare([[1.0, 2.0, np.nan]], n_select=2, n_per_class=1)


def test_the_same_instance_from_the_same_input():
    once, again = (generate(64, 10, 8, 3, seed=4) for _ in range(2))
    assert once.fingerprint == again.fingerprint


def test_a_matrix_that_looks_transposed_is_named(caplog):
    A = np.random.default_rng(0).uniform(size=(20, 8))
    prepare(A, n_select=6, n_per_class=3)
    assert "A has 20 classes (rows) and only 8 features (columns); is it transposed?" in caplog.text
    caplog.clear()
    prepare(A[:16], n_select=6, n_per_class=3)
    assert "transposed" not in caplog.text
    with pytest.raises(InfeasibleInstance):
        prepare(A, n_select=5, n_per_class=3)  # too few sets for what are 8 classes in truth
    assert "is it transposed?" in caplog.text


def test_few_shared_features_are_named(caplog):
    """6 classes of 2 features each among 7: 12 / 7 classes a feature; with 6 features it is 2."""
    A = np.random.default_rng(0).uniform(size=(6, 12))
    prepare(A, n_select=7, n_per_class=2)
    assert "a feature serves 1.71 classes on average. Set n_select to about 4;" in caplog.text
    caplog.clear()
    prepare(A, n_select=6, n_per_class=2)
    assert "Little is shared" not in caplog.text


def test_demands_are_handed_on_and_known_early():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(5, 10))
    instance = prepare(
        A, n_select=6, n_per_class=2, required=[(0, 7)], forbidden=[(1, 2)], rho=0.4, name="mine"
    )
    assert instance.demands.stated == ("forbidden", "required", "pairs")
    assert 7 in instance.provenance["clique"]
    assert instance.name == "mine"
    with pytest.raises(InfeasibleInstance, match="both required of class 0"):
        prepare(A, n_select=6, n_per_class=2, required=[(0, 7)], forbidden=[(0, 7)])
    with pytest.raises(TypeError, match="no argument 'forbid'"):
        prepare(A, n_select=6, n_per_class=2, forbid=[(0, 7)])


def test_similarity_is_scaled_by_all_assignments():
    """A solution whose entries are all the largest has a similarity of 1000, whatever budgets."""
    A = np.ones((3, 6)) - np.eye(3, 6)
    for demands, n_assigned in (({}, 6), ({"budget": [1, 2, 4]}, 7), ({"budget": Average(1)}, 6)):
        instance = prepare(A, n_select=4, n_per_class=2, epsilon=None, **demands)
        assert instance.A.max() * n_assigned == pytest.approx(1000)
