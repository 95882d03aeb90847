"""Specificity, against its definition and worked-out cases."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qpopt import InvalidInstance, prepare
from qpopt.preprocessing.specificity import effective_classes, specificity_factors


def column(n_positive, n_classes=8, value=0.4):
    """A feature that speaks for so many classes alike, and a little against the others."""
    return np.where(np.arange(n_classes) < n_positive, value, -0.01)


def test_equal_entries_count_one_each():
    A = np.array([column(m) for m in range(9)]).T
    assert effective_classes(A) == pytest.approx([1, 1, 2, 3, 4, 5, 6, 7, 8])
    assert effective_classes(0.5 + A, 0.5) == pytest.approx([1, 1, 2, 3, 4, 5, 6, 7, 8])


@given(hnp.arrays(np.float64, (5, 3), elements=st.floats(-1, 1, width=32)))
def test_effective_classes_by_definition(A):
    for d, found in enumerate(effective_classes(A)):
        squares = [max(a, 0.0) ** 2 for a in A[:, d].tolist()]
        if sum(squares) < 1e-30:
            continue
        expected = 1 / sum((square / sum(squares)) ** 2 for square in squares)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(("m", "factor"), [(1, 0.7), (8, 0.7), (4, 1.0), (2, None), (6, None)])
def test_factors(m, factor):
    """With 4 classes wanted of 8, one class and all of them lose all of kappa."""
    if factor is None:
        distance = log(4 / m) / log(4) if m < 4 else log(m / 4) / log(2)
        factor = 1 - 0.3 * distance**2
    assert specificity_factors(np.array([float(m)]), 0.3, 4.0, 8) == pytest.approx([factor])


@pytest.mark.parametrize("wanted", [0.5, 1.0, 8.0, 20.0])
def test_where_one_or_all_are_wanted_nothing_is_divided_by_zero(wanted):
    factors = specificity_factors(np.arange(1.0, 9.0), 0.3, wanted, 8)
    kept = 0 if wanted <= 1 else 7
    assert factors[kept] == pytest.approx(1.0)
    assert factors[7 - kept] == pytest.approx(0.7)


def test_prepare_scales_columns_and_leaves_the_rest():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(6, 12)), rng.random(12)
    plain = prepare(A, b, n_select=6, n_per_class=2)
    none = prepare(A, b, n_select=6, n_per_class=2, specificity=0.0)
    some = prepare(A, b, n_select=6, n_per_class=2, specificity=0.4)
    assert none.fingerprint == plain.fingerprint
    assert (some.R == plain.R).all()
    assert (some.b == plain.b).all()
    assert some.hint == plain.hint
    factors = np.array(some.provenance["specificity_factors"])
    raw = some.A / factors / some.provenance["similarity_factor"]
    assert raw == pytest.approx(A)
    assert some.provenance["effective_classes"] == pytest.approx(effective_classes(A).tolist())
    assert factors.min() >= 0.6
    assert factors.max() <= 1.0


@pytest.mark.parametrize(("value", "message"), [(1.0, "below 1"), (-0.1, "at least 0")])
def test_bad_values(value, message):
    with pytest.raises(InvalidInstance, match=f"specificity must be.*{message}"):
        prepare(np.eye(3, 6), n_select=4, n_per_class=2, specificity=value)
