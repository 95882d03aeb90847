from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

from qpopt.models.compiled import Kind
from qpopt.models.compiler import compile_model


def concrete():
    model = pyo.ConcreteModel()
    model.unused = pyo.Var(bounds=(0, 9))
    model.x = pyo.Var([0, 1], [0, 1, 2], domain=pyo.Binary)
    model.y = pyo.Var(bounds=(-2, 3))
    model.linear = pyo.Constraint(expr=2 * model.x[1, 2] - model.y >= 4)
    model.equation = pyo.Constraint(expr=model.x[0, 0] + model.x[0, 1] == 1)
    model.quadratic = pyo.Constraint(expr=model.x[0, 0] * model.y + 5 * model.x[1, 1] + 1 <= 3)
    model.value = pyo.Objective(
        expr=7 + model.x[0, 1] - 2 * model.x[1, 0] * model.x[0, 2] + 0.5 * model.y,
        sense=pyo.maximize,
    )
    return model


def test_every_part_lands_where_the_blocks_say():
    model = compile_model(concrete(), implied=("y",))
    assert {name: (block.start, block.shape) for name, block in model.blocks.items()} == {
        "unused": (0, (1,)),
        "x": (1, (2, 3)),
        "y": (7, (1,)),
    }
    assert model.constant == 7
    assert model.c.tolist() == [0, 0, 1, 0, 0, 0, 0, 0.5]
    assert [part.tolist() for part in model.products] == [[3], [4], [-2]]
    assert model.lower.tolist() == [0] * 7 + [-2]
    assert model.upper.tolist() == [9] + [1] * 6 + [3]
    assert model.kinds.tolist() == [Kind.CONTINUOUS] + [Kind.INTEGER] * 6 + [Kind.IMPLIED]


def test_rows_keep_their_sides():
    rows = compile_model(concrete()).rows
    assert rows.matrix.toarray().tolist() == [
        [0, 0, 0, 0, 0, 0, 2, -1],
        [0, 1, 1, 0, 0, 0, 0, 0],
    ]
    assert rows.lower.tolist() == [4, 1]
    assert rows.upper.tolist() == [np.inf, 1]


def test_a_constant_inside_a_quadratic_row_moves_to_its_side():
    (row,) = compile_model(concrete()).quadratic_rows
    assert (row.lower, row.upper) == (-np.inf, 2)
    assert (row.variables.tolist(), row.coefficients.tolist()) == ([5], [5])
    assert [part.tolist() for part in row.products] == [[1], [7], [1]]


def test_the_model_is_left_as_it_was():
    model = concrete()
    compile_model(model)
    assert model.quadratic.active
    assert model.value.active


def test_more_than_products_is_refused():
    model = concrete()
    model.value.deactivate()
    model.other = pyo.Objective(expr=model.x[0, 0] * model.x[0, 1] * model.y, sense=pyo.maximize)
    with pytest.raises(ValueError, match="products of two variables"):
        compile_model(model)
