import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import InfeasibleInstance, InvalidInstance, generate
from qpopt.synthetic import STRUCTURES
from tests.strategies import sizes


@settings(max_examples=60)
@given(
    st.sampled_from(list(STRUCTURES)), sizes(max_features=20, max_classes=12), st.integers(0, 99)
)
def test_any_size_of_any_structure(structure, counts, seed):
    n_classes, n_features, n_select, n_per_class = counts
    arguments = (n_features, n_classes, n_select, n_per_class)
    instance = generate(*arguments, structure=structure, seed=seed)
    assert instance.A.shape == (n_classes, n_features)
    assert (instance.n_select, instance.n_per_class) == (n_select, n_per_class)
    assert instance.provenance["structure"] == structure
    assert instance.provenance["seed"] == seed
    assert generate(*arguments, structure=structure, seed=seed) == instance


@pytest.mark.parametrize("structure", STRUCTURES)
def test_another_seed_gives_another_instance(structure):
    once, again = (generate(40, 8, 8, 3, structure=structure, seed=seed) for seed in (1, 2))
    assert once != again


@settings(max_examples=30)
@given(sizes(max_features=30, max_classes=15), st.integers(0, 99))
def test_planted_selection_is_the_best(counts, seed):
    n_classes, n_features, n_select, n_per_class = counts
    instance = generate(
        n_features, n_classes, n_select, n_per_class, structure="planted", seed=seed
    )
    planted = list(instance.provenance["planted"])
    value = instance.objective(planted)
    # No selection can beat the largest entry everywhere, no redundancy and the largest biases.
    best = n_classes * n_per_class * instance.A.max() + np.sort(instance.b)[-n_select:].sum()
    assert value.total == pytest.approx(best)
    sets = np.argsort(-instance.A[:, planted], axis=1, kind="stable")[:, :n_per_class]
    assert len({tuple(sorted(row)) for row in sets.tolist()}) == n_classes


def test_clustered_features_have_near_duplicates():
    instance = generate(120, 30, 10, 3, structure="clustered", epsilon=None)
    nearest = instance.R.max(axis=1)
    assert (nearest > 0.9).mean() > 0.5
    unstructured = generate(120, 30, 10, 3, structure="uniform", epsilon=None)
    assert (unstructured.R.max(axis=1) > 0.9).mean() < 0.1


def test_options_go_to_prepare():
    instance = generate(40, 8, 8, 3, redundancy=0.0, name="mine", provenance={"x": 1})
    assert not instance.R.any()
    assert instance.name == "mine"
    assert instance.provenance["x"] == 1


def test_planted_selection_cannot_be_spoilt():
    instance = generate(20, 4, 6, 2, structure="planted", provenance={"x": 1})
    assert instance.provenance["x"] == 1
    assert len(instance.provenance["planted"]) == 6
    for option in ({"epsilon": None}, {"exclude": [0]}, {"include": [0]}):
        with pytest.raises(InvalidInstance, match="no longer be known"):
            generate(20, 4, 6, 2, structure="planted", **option)


def test_bad_arguments():
    with pytest.raises(InvalidInstance, match="structure must be one of attributes"):
        generate(10, 2, 4, 2, structure="odd")
    with pytest.raises(InfeasibleInstance, match="2 distinct sets"):
        generate(10, 5, 2, 1)
    with pytest.raises(InvalidInstance, match="n_classes must be a whole number of at least 1"):
        generate(10, 0, 4, 2)
    with pytest.raises(InvalidInstance, match="seed"):
        generate(10, 2, 4, 2, seed=-3)
