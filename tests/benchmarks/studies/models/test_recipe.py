import json

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.studies.models.recipe import Recipe


def test_options_change_a_recipe():
    recipe = Recipe().changed({"epochs": 3, "beta": 1, "relu": False})
    assert (recipe.epochs, recipe.beta, recipe.relu) == (3, 1, False)
    assert json.loads(recipe.text)["epochs"] == 3
    assert recipe.sparse(4).seed == 4
    assert recipe.sparse(0).leaking == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epoch": 3}, "no option 'epoch'"),
        ({"epochs": 2.5}, "epochs must be like 12"),
        ({"epochs": True}, "epochs must be like 12"),
        ({"relu": 1}, "relu must be like True"),
        ({"algorithm": 3}, "algorithm must be like 'adamw'"),
    ],
)
def test_other_options_are_refused(options, said):
    with pytest.raises(BenchmarkError, match=said):
        Recipe().changed(options)


def test_the_dense_network_is_shared_where_it_is_the_same():
    assert Recipe(beta=1.0).before == Recipe(beta=2.0).before
    assert Recipe(dense_epochs=1).before != Recipe().before
    assert Recipe(finer=1).before != Recipe().before
