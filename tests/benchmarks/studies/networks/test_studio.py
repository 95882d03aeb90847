import numpy as np
import pytest
import torch

from benchmarks.studies.networks.studio import (
    Waits,
    made_network,
    main,
    pictures,
    random_demand,
    table_of,
)


def test_the_network_recognises_most_of_what_it_did_not_see():
    train, test = (pictures(8, 80, seed=0, part=part) for part in (0, 1))
    assert not torch.equal(train[0], test[0])
    network = made_network(64, 8, train)
    with torch.no_grad():
        right = (network(test[0]).argmax(1) == test[1]).float().mean()
    assert right > 0.8


def test_demands_are_about_the_model_that_was_opened():
    first = {"number": 0, "problem": "", "selection": [1, 4, 5], "sets": [[1, 4], [4, 5]]}
    told = {"states": [{**first, "n_select": 3}]}
    chance = np.random.default_rng(0)
    found = [random_demand(told, chance) for _ in range(80)]
    assert len({one["kind"] for one in found}) == 8
    for one in found:
        if one["kind"] == "forbid":
            assert one["feature"] in first["sets"][one["of"]]
        if one["kind"] in ("exclude", "assign"):
            assert one["feature"] in first["selection"]


def test_the_table_has_the_quantiles():
    waits = [Waits("exclude", float(i), 10.0 + i) for i in range(11)]
    table = table_of(waits)
    assert [list(column.cells) for column in table.columns][2] == ["5.00", "15.00"]
    assert list(table.columns[4].cells) == ["10.00", "20.00"]


@pytest.mark.slow
def test_a_small_studio_is_driven():
    said = []
    table = main(64, 8, 80, 8, 2, 3, 0, tell=said.append)
    assert table.title == "3 demands"
    assert any("usable" in line or "no browser" in line for line in said)
