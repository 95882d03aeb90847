from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from qpopt.errors import UnsupportedModel
from qpopt.models.compiled import Block, CompiledModel, Kind, Rows
from qpopt.solvers import SolverRequest
from qpopt.solvers.cpsat_ import LARGEST_EXPONENT, CpSat, scale_objective

needs_cpsat = pytest.mark.skipif(not CpSat().availability().usable, reason="cpsat is not installed")


def model(c):
    n = len(c)
    return CompiledModel(
        c=np.asarray(c, dtype=float),
        constant=0.0,
        rows=Rows(sparse.csr_array(np.ones((1, n))), np.array([-np.inf]), np.array([1.0])),
        lower=np.zeros(n),
        upper=np.ones(n),
        kinds=np.full(n, Kind.INTEGER, np.int8),
        blocks={"x": Block(0, (n,))},
    )


@given(
    c=hnp.arrays(
        np.float64,
        st.integers(1, 20),
        elements=st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda v: abs(v) != 5e-324),
    ),
    data=st.data(),
)
def test_the_scaled_objective_never_understates_by_more_than_its_error(c, data):
    scaled = scale_objective(model(c))
    x = data.draw(hnp.arrays(np.int64, len(c), elements=st.integers(0, 1)))
    whole = sum(int(a) * int(b) for a, b in zip(scaled.coefficients, x, strict=True))
    assert float(c @ x) <= scaled.bound(float(whole))
    assert sum(abs(int(a)) for a in scaled.coefficients) <= 2 ** (LARGEST_EXPONENT + 1)


def test_whole_coefficients_are_kept_without_error():
    scaled = scale_objective(model([3.0, -2.0, 8.0]))
    assert (scaled.coefficients / scaled.factor).tolist() == [3, -2, 8]
    assert scaled.error == 0


def test_an_objective_of_zeros():
    assert scale_objective(model([0.0, 0.0])).bound(0.0) == pytest.approx(0.0, abs=1e-12)


@needs_cpsat
def test_continuous_variables_are_refused():
    continuous = replace(model([1.0]), kinds=np.array([Kind.CONTINUOUS], np.int8))
    with pytest.raises(UnsupportedModel, match="integer variables only"):
        CpSat().solve(continuous, SolverRequest())


@needs_cpsat
def test_fractions_in_constraints_are_refused():
    rows = Rows(sparse.csr_array([[0.5, 1.0]]), np.array([-np.inf]), np.array([1.0]))
    with pytest.raises(UnsupportedModel, match="whole coefficients"):
        CpSat().solve(replace(model([1.0, 2.0]), rows=rows), SolverRequest())
