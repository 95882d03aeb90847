"""Demands as arguments of an instance: what is kept, what is refused, what stays the same."""

import pickle

import numpy as np
import pytest

from qpopt import Average, InfeasibleInstance, Instance, InvalidInstance

RNG = np.random.default_rng(5)
A = RNG.normal(size=(5, 8))
R = np.zeros((8, 8))
B = np.zeros(8)


def made(n_select=5, n_per_class=2, **demands):
    return Instance(A, R, B, n_select, n_per_class, **demands)


EVERYTHING = [
    {"forbidden": [(1, 2), (0, 3), (1, 2)], "required": [(0, 1)]},
    {"classes_per_feature": (1, None)},
    {"pairs": [(3, 1)]},
    {"rho": 0.6},
    {"pairs": 2},
    {"max_shared": 1, "pairs": [(0, 1)]},
    {"budget": [1, 2, 3, 2, 2]},
    {"budget": Average(1, 4), "negative": (1, 0.5)},
    {"budget": Average(), "classes_per_feature": (0, 3)},
]


@pytest.mark.parametrize("demands", EVERYTHING)
def test_demands_survive_files_and_pickles(demands, tmp_path):
    instance = made(**demands)
    instance.save(tmp_path / "one.npz")
    for again in (Instance.load(tmp_path / "one.npz"), pickle.loads(pickle.dumps(instance))):
        assert again.demands == instance.demands
        assert again == instance
    assert instance.fingerprint != made().fingerprint
    assert instance != made()
    assert repr(instance) != repr(made())


def test_nothing_demanded_changes_nothing():
    plain = made()
    same = made(
        forbidden=[], required=(), classes_per_feature=(None, None), pairs=(), rho=None,
        max_shared=None, budget=[2] * 5, negative=(0, 1.0),
    )  # fmt: skip
    assert same.fingerprint == plain.fingerprint
    assert not same.demands
    # What instances without demands had before there were any.
    assert made(include=[1]).fingerprint == Instance(A, R, B, 5, 2, include=[1]).fingerprint


def test_the_fingerprint_of_a_plain_instance_is_that_of_earlier_files():
    instance = Instance(np.arange(8.0).reshape(2, 4), np.zeros((4, 4)), np.zeros(4), 3, 2)
    assert instance.fingerprint == FINGERPRINT


FINGERPRINT = "5eda19a6ec6b985ba85c44ae5ce0771fd22b9b8b99ffd29e4908963e2eb1ff1f"


def test_every_demand_has_a_fingerprint_of_its_own():
    prints = [made(**demands).fingerprint for demands in EVERYTHING]
    assert len(set(prints)) == len(prints)


def test_rho_takes_the_closest_rows():
    rows = np.array([[0.0, 0], [5, 0], [0.5, 0], [5, 1], [0, 3]])
    instance = Instance(np.hstack([rows, np.zeros((5, 6))]), R, B, 5, 2, rho=0.4)
    assert instance.pairs == ((0, 2), (1, 3))


def test_rho_breaks_ties_by_number():
    instance = Instance(np.zeros((5, 8)), R, B, 5, 2, rho=0.6)
    assert instance.pairs == ((0, 1), (0, 2), (0, 3))


def test_required_features_are_included():
    instance = made(required=[(0, 6), (3, 6), (1, 2)], include=[4])
    assert instance.include == (4,)
    assert instance.included == (2, 4, 6)


def test_a_feature_that_too_few_may_use_is_excluded():
    instance = made(
        forbidden=[(c, 5) for c in range(4)], classes_per_feature=(2, None), exclude=[7]
    )
    assert instance.excluded == (5, 7)
    assert made(forbidden=[(c, 5) for c in range(4)], classes_per_feature=(1, None)).excluded == ()


def test_free_cells_and_budgets():
    instance = made(
        forbidden=[(0, 1)], required=[(0, 2), (0, 3)], exclude=[7], budget=Average(1, 4)
    )
    assert not instance.free_cells[0, [1, 2, 3, 7]].any()
    assert instance.free_cells[0].sum() == 4
    assert instance.free_cells[1].sum() == 7
    assert instance.budgets.least.tolist() == [2, 1, 1, 1, 1]
    assert instance.budgets.most.tolist() == [4] * 5
    assert instance.budgets.total == 10


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ({"forbidden": [(5, 0)]}, "forbidden names class 5; there are only 5"),
        ({"required": [(0, 8)]}, "required names feature 8; there are only 8"),
        ({"forbidden": [3]}, r"forbidden must hold pairs \(class, feature\)"),
        ({"required": [(0.5, 1)]}, "required must hold pairs"),
        ({"classes_per_feature": 3}, r"must be a pair \(least, most\)"),
        ({"classes_per_feature": (3, 2)}, r"is \(3, 2\): it must rise"),
        ({"classes_per_feature": (0, 6)}, "there are 5 classes"),
        ({"classes_per_feature": (-1, 3)}, "whole number of at least 0"),
        ({"pairs": [(1, 1)]}, "joins class 1 with itself"),
        ({"pairs": [(1, 2), (2, 1)]}, "names a pair of classes twice"),
        ({"pairs": [(0, 9)]}, "pairs names class 9"),
        ({"pairs": -1}, "pairs must be a whole number"),
        ({"rho": 0.2, "pairs": [(0, 1)]}, "not both"),
        ({"rho": -0.1}, "rho must be a number of at least 0"),
        ({"max_shared": -1}, "max_shared must be a whole number"),
        ({"max_shared": 2}, "max_shared is 2, but a class has at most 2"),
        ({"budget": 3}, "one number for each class or an Average"),
        ({"budget": [1, 2]}, "budget has 2 numbers for 5 classes"),
        ({"budget": [0, 2, 2, 2, 2]}, "at least 1"),
        ({"negative": (3, 1.0)}, "allows 3 features a class"),
        ({"negative": (1, 0.0)}, "gamma must be above 0"),
        ({"negative": (1, 1.0, 1.0)}, r"must be a pair \(q, gamma\)"),
        ({"pairs": [(0, 1)], "budget": Average(1, 3)}, "not an Average"),
        ({"pairs": [(0, 1)], "budget": [1, 2, 2, 2, 2]}, "have 1 and 2 features"),
        ({"pairs": 1, "budget": [1, 2, 2, 2, 2]}, "same budget for all classes"),
        ({"pairs": 1, "max_shared": 1}, "do not go together"),
        ({"pairs": [(0, 1)], "negative": (1, 1.0)}, "negative and pairs do not go together"),
        ({"max_shared": 1, "negative": (1, 1.0)}, "negative and max_shared do not"),
    ],
)
def test_malformed_demands(demands, message):
    with pytest.raises(InvalidInstance, match=message) as caught:
        made(**demands)
    assert not isinstance(caught.value, InfeasibleInstance)


def test_an_average_is_checked():
    with pytest.raises(InvalidInstance, match="most is 2, below least = 3"):
        Average(3, 2)
    with pytest.raises(InvalidInstance, match="least must be a whole number of at least 1"):
        Average(0)


def test_unknown_arguments_are_errors():
    with pytest.raises(TypeError, match="no argument 'forbiden'"):
        made(forbiden=[(0, 1)])


ODD = [
    True, False, -1, 2.5, 2**70, 1e400, float("nan"), "x", "01", b"x", [[]], [None], {"a": 1},
    {0: 1}, [[0, 99]], [[-1, 0]], [[0.5, 1]], [["0", "1"]], [[True, 1]], [[0, 1, 2]], [[0]],
    [1, 2, 3], [9] * 5, [[1, [2]], 3], np.zeros((2, 2)), np.array(["x"]), (3, 1), (-1, 2),
    (1, 2, 3), object(), len, np.zeros((99, 99)),
]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize(
    "name",
    [
        "forbidden", "required", "classes_per_feature", "pairs", "rho", "max_shared", "budget",
        "negative",
    ],
)  # fmt: skip
def test_what_is_no_demand_is_refused_in_one_line(name, value):
    with pytest.raises(InvalidInstance) as caught:
        made(**{name: value})
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 250


def test_cells_may_come_as_an_array():
    cells = np.array([[1, 2], [0, 3]])
    assert made(forbidden=cells) == made(forbidden=[(0, 3), (1, 2)])
    assert made(pairs=cells[:, ::-1]) == made(pairs=[(1, 2), (0, 3)])
    assert made(budget=np.array([1, 2, 3, 2, 2])) == made(budget=[1, 2, 3, 2, 2])


@pytest.mark.parametrize("name", ["include", "exclude", "hint"])
def test_truth_values_are_no_indices(name):
    with pytest.raises(InvalidInstance, match="must hold feature indices"):
        made(**{name: [True, False]})
