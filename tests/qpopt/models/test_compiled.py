from __future__ import annotations

import numpy as np
from scipy import sparse

from qpopt.models.compiled import Block, CompiledModel, Kind, Products, Rows


def small():
    """Maximise 2x + 3y + 1 − 4xy with x + y ≤ 1."""
    return CompiledModel(
        c=np.array([2.0, 3.0]),
        constant=1.0,
        rows=Rows(sparse.csr_array([[1.0, 1.0]]), np.array([-np.inf]), np.array([1.0])),
        lower=np.zeros(2),
        upper=np.ones(2),
        kinds=np.full(2, Kind.INTEGER, np.int8),
        blocks={"x": Block(0, (1,)), "y": Block(1, (1,))},
        products=Products(np.array([0]), np.array([1]), np.array([-4.0])),
    )


def test_the_value_has_constant_linear_and_quadratic_part():
    assert small().value(np.array([1.0, 1.0])) == 2.0
    assert small().value(np.array([0.0, 1.0])) == 4.0


def test_blocks_are_views_in_their_own_shape():
    x = np.arange(6.0)
    model = CompiledModel(
        np.zeros(6),
        0.0,
        Rows(sparse.csr_array((0, 6)), np.zeros(0), np.zeros(0)),
        np.zeros(6),
        np.ones(6),
        np.zeros(6, np.int8),
        {"w": Block(0, (2, 2)), "s": Block(4, (2,))},
    )
    assert model.block("w", x).tolist() == [[0, 1], [2, 3]]
    model.block("s", x)[:] = 7
    assert x.tolist() == [0, 1, 2, 3, 7, 7]


def test_further_rows_come_last_and_leave_the_model_alone():
    model = small()
    more = Rows(sparse.csr_array([[0.0, 5.0]]), np.array([2.0]), np.array([np.inf]))
    longer = model.with_rows(more)
    assert longer.rows.matrix.toarray().tolist() == [[1, 1], [0, 5]]
    assert longer.rows.lower.tolist() == [-np.inf, 2]
    assert longer.rows.upper.tolist() == [1, np.inf]
    assert model.rows.n_rows == 1
