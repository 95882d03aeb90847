"""Acting on what a report shows: names that stay, features that must or must not be there."""

import numpy as np
import pytest

import qpopt_torch
from qpopt import Instance
from qpopt_torch import collect, sparsify
from qpopt_torch.pipeline.steering import made_instance
from tests.qpopt_torch.readable import small_loader, small_network, small_sparse


def steered(out, **options):
    return sparsify(
        small_network(),
        small_loader(),
        n_select=5,
        n_per_class=2,
        training=None,
        solve={"method": "compact", "solver": "highs", "time_limit": None},
        out=out,
        progress=False,
        **options,
    )


def test_names_of_features_are_saved_with_the_model(tmp_path):
    sparse = small_sparse()
    sparse.rename_features({8: 'red & "round"'})
    sparse.save(tmp_path)
    again = qpopt_torch.load(tmp_path, small_network(seed=5))
    assert again.feature_names == {8: 'red & "round"'}
    assert (again.feature_name(8), again.feature_name(11)) == ('red & "round"', "Feature 11")


def test_a_bad_feature_is_replaced_and_a_good_one_stays(tmp_path):
    free = steered(tmp_path / "free")
    bad = int(free.selection[0])
    missing = next(d for d in range(12) if d not in free.selection)
    asked = steered(tmp_path / "asked", exclude=[bad], include=[missing])
    assert bad not in asked.selection
    assert missing in asked.selection
    assert asked.solution.objective <= free.solution.objective + 1e-9


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_bias_has_the_scale_that_was_asked_for(tmp_path, scale):
    steered(tmp_path, prepare={"bias": "center", "bias_scale": scale})
    instance = Instance.load(tmp_path / "instance.npz")
    assert np.abs(instance.b).max() == pytest.approx(scale)
    assert instance.provenance["bias"] == "center"


def test_an_instance_is_made_anew_where_none_was_kept():
    made = steered(None)
    instance = made_instance(made, small_loader(), progress=False)
    known = collect(small_network(), small_loader(), progress=False).instance(5, 2)
    np.testing.assert_allclose(instance.A, known.A, atol=1e-5)
    assert (instance.n_select, instance.n_per_class) == (5, 2)
