import numpy as np
import pytest

from qpopt import Instance
from qpopt_torch.errors import ModelError
from qpopt_torch.studio.demands import Demand, Wishes, conflict, impossible, names_of


@pytest.fixture(scope="module")
def base():
    chance = np.random.default_rng(0)
    redundancy = np.triu(chance.uniform(0, 1, (6, 6)), 1)
    return Instance(
        chance.uniform(0, 1, (3, 6)),
        redundancy + redundancy.T,
        chance.uniform(0, 1, 6),
        4,
        2,
        include=[5],
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (None, "one of exclude"),
        ({"kind": "explode"}, "one of exclude"),
        ({"kind": "exclude"}, "says feature"),
        ({"kind": "exclude", "feature": 1, "of": 2}, "nothing else"),
        ({"kind": "exclude", "feature": 6}, "from 0 to 5"),
        ({"kind": "exclude", "feature": -1}, "from 0 to 5"),
        ({"kind": "exclude", "feature": True}, "from 0 to 5"),
        ({"kind": "exclude", "feature": 1.0}, "from 0 to 5"),
        ({"kind": "forbid", "feature": 1, "of": 3}, "from 0 to 2"),
        ({"kind": "pair", "of": 1, "other": 1}, "two different classes"),
        ({"kind": "n_select", "value": 2.5}, "whole number"),
        ({"kind": "n_select", "value": 0}, "whole number"),
        ({"kind": "n_select", "value": float("inf")}, "whole number"),
        ({"kind": "n_select", "value": 10**400}, "whole number"),
        ({"kind": "bias", "value": 10**400}, "not a int"),
        ({"kind": "exclude", "feature": 10**400}, "not a int"),
        ({"kind": "bias", "value": -1}, "from 0 to 100"),
        ({"kind": "bias", "value": float("nan")}, "from 0 to 100"),
        ({"kind": "bias", "value": "heavy"}, "from 0 to 100"),
        ({"kind": "rename", "feature": 1, "name": 7}, "a text"),
    ],
)
def test_what_is_no_demand_is_refused(values, said):
    with pytest.raises(ModelError, match=said):
        Demand.checked(values, 6, 3)


def test_a_demand_is_what_it_was_after_a_file():
    for values in (
        {"kind": "forbid", "feature": 1, "of": 2},
        {"kind": "pair", "of": 0, "other": 2},
        {"kind": "bias", "value": 0.5},
        {"kind": "rename", "feature": 0, "name": "red eye"},
    ):
        assert Demand.checked(values, 6, 3).to_dict() == values


def test_names_are_one_line_of_what_can_be_seen():
    told = {"kind": "rename", "feature": 0, "name": "  red\n\x00 eye " + "x" * 200}
    name = Demand.checked(told, 6, 3).name
    assert name is not None
    assert name.startswith("red eye xxx")
    assert len(name) == 80


def test_demands_come_to_one_instance(base):
    demands = [
        Demand("exclude", feature=0),
        Demand("require", feature=3),
        Demand("n_per_class", value=3),
        Demand("bias", value=2.0),
        Demand("redundancy", value=0.5),
        Demand("rename", feature=3, name="eye"),
    ]
    wanted = Wishes.of(base, demands).instance(base)
    assert (wanted.n_select, wanted.n_per_class) == (4, 3)
    assert wanted.include == (3, 5)
    assert wanted.exclude == (0,)
    # A is scaled by the number of assignments, so that its weight in the objective stays.
    np.testing.assert_allclose(wanted.A, base.A * 2 / 3)
    np.testing.assert_allclose(wanted.b, base.b * 2)
    np.testing.assert_allclose(wanted.R, base.R / 2)
    assert names_of(demands) == {3: "eye"}


def test_without_demands_nothing_changes(base):
    assert Wishes.of(base, []).instance(base).fingerprint == base.fingerprint


def test_a_conflict_is_as_small_as_it_can_be(base):
    demands = [
        Demand("exclude", feature=1),
        Demand("bias", value=2.0),
        Demand("exclude", feature=5),  # which the instance itself includes
        Demand("require", feature=2),
    ]
    assert "5" in impossible(base, demands)
    assert conflict(demands, lambda some: bool(impossible(base, list(some)))) == [2]
    too_few = [Demand("exclude", feature=d) for d in (0, 1, 2)]
    assert conflict(too_few, lambda some: bool(impossible(base, list(some)))) == [0, 1, 2]
    assert not impossible(base, too_few[:2])
