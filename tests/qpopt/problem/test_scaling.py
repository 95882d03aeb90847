"""What is worked on instead of an instance, and the way back."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt import Instance, InvalidInstance
from qpopt.problem.scaling import scaled, size_of_terms
from tests.awkward import awkward_instances


def made(A, R, b, n_select, n_per_class, **more):
    R = np.array(R, dtype=float)
    return Instance(A, R + R.T, b, n_select, n_per_class, **more)


def test_terms_are_brought_below_a_thousand_by_a_power_of_two(toy):
    # Two classes with at most 4 twice, and the three largest biases: 16.9, 64 times that is 1081.6.
    assert size_of_terms(toy) == pytest.approx(16.9)
    scaling = scaled(toy)
    assert scaling.exponent == 5
    assert scaling.instance.A.tolist() == (32 * toy.A).tolist()
    assert scaling.instance.R.tolist() == (32 * toy.R).tolist()
    assert scaling.back(32 * 12.9) == 12.9
    assert scaling.into(12.9) == 32 * 12.9
    assert scaling.original is toy


def test_what_has_that_size_is_left_alone():
    instance = made([[300.0, 1.0]], np.zeros((2, 2)), [0.0, 300.0], 1, 1)
    assert scaled(instance).instance is instance
    nothing = made(np.zeros((1, 2)), np.zeros((2, 2)), [0, 0], 1, 1)
    assert (scaled(nothing).exponent, size_of_terms(nothing)) == (0, 0.0)


def test_where_there_is_only_redundancy_it_counts():
    R = np.zeros((3, 3))
    R[0, 1] = 2.0**-40
    assert scaled(made(np.zeros((1, 3)), R, np.zeros(3), 2, 1)).instance.R.max() == 512


def test_constants_that_cancel_out_are_taken_out():
    # Every Z holds 10⁹ + 1 and 10⁹ + 5 from A, and 2 · −10⁹ from b.
    A = np.array([[0.0, 1.0, 2.0], [4.0, 5.0, 6.0]]) + 1e9
    scaling = scaled(made(A, np.zeros((3, 3)), np.full(3, -1e9), 2, 1))
    assert scaling.class_offsets.tolist() == [1e9 + 1, 1e9 + 5]
    assert scaling.feature_offset == -1e9
    assert scaling.constant == 6
    # What is left are two classes with ±1: 256 times that makes 512.
    assert scaling.exponent == 8
    assert scaling.instance.A.tolist() == [[-256.0, 0.0, 256.0]] * 2
    assert scaling.offset == 6 * 256


def test_excluded_features_count_for_nothing():
    instance = made([[1.0, 0.5, 1e90]], np.zeros((3, 3)), [0.0, 0.0, 1e80], 1, 1, exclude=[2])
    scaling = scaled(instance)
    assert scaling.instance.A.tolist() == [[512.0, 256.0, 0.0]]
    assert scaling.instance.exclude == (2,)


def test_redundancy_beyond_all_measure_is_refused():
    R = np.zeros((2, 2))
    R[0, 1] = 1e90
    with pytest.raises(InvalidInstance, match=r"R reaches 1e\+90"):
        scaled(made([[1e-9, 1e-9]], R, [0.0, 0.0], 1, 1))


@pytest.mark.parametrize("smallest", [5e-324, 1e-310])
def test_bounds_are_rounded_up_where_there_are_no_digits(smallest):
    scaling = scaled(made([[smallest]], [[0.0]], [0.0], 1, 1))
    unit = Fraction(2) ** scaling.exponent
    bound = scaling.into(smallest) * (1 + 1e-9)
    assert Fraction(scaling.bound_back(bound)) >= Fraction(bound) / unit
    assert scaling.back(scaling.into(smallest)) == smallest
    assert scaling.bound_back(inf) == inf
    assert scaling.into(-inf) == -inf


@given(
    instance=awkward_instances(),
    exponent=st.integers(-300, 250),
    shift=st.sampled_from([0.0, 1e3, 1e9, 1e12]),
)
def test_z_and_bounds_go_there_and_back(instance, exponent, shift):
    taken = shift * instance.n_per_class * instance.n_classes / instance.n_select
    A, R, b = (np.ldexp(x, exponent) for x in (instance.A + shift, instance.R, instance.b - taken))
    moved = Instance(
        A, R, b, instance.n_select, instance.n_per_class,
        include=instance.include, exclude=instance.exclude,
    )  # fmt: skip
    scaling = scaled(moved)
    assert size_of_terms(scaling.instance) < 1024
    undecided = set(range(instance.n_features)) - {*instance.include, *instance.exclude}
    rest = sorted(undecided)[: instance.n_select - len(instance.include)]
    selection = sorted([*instance.include, *rest])
    here = moved.objective(selection).total
    there = scaling.instance.objective(selection).total
    rounding = 1e-15 * 2.0**exponent * (size_of_terms(instance) + shift * instance.n_classes * 8)
    assert abs(scaling.back(there) - here) <= rounding + 1e-15 * abs(here)
    # Both are rounded numbers themselves.
    assert scaling.bound_back(there + 1e-15 * abs(there)) >= here
    assert scaling.bound_into(here + 1e-15 * abs(here)) >= there - 1e-15 * abs(there)
