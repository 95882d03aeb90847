"""QPLIB files: the format of the library of quadratic programming instances.

Its quadratic forms are ½xᵀQx, given by the lower triangle of Q; everything is counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from qpopt.models.compiled import CompiledModel, Kind, Products

INFINITY = "1e+30"


def lines(model: CompiledModel, title: str) -> Iterator[str]:
    """Yield the lines of a QPLIB file; variables and constraints go by number."""
    kind = _variable_kind(model)
    constraints = "Q" if model.quadratic_rows else "L"
    yield title
    yield f"{'L' if model.products is None else 'Q'}{kind}{constraints}"
    yield "maximize"
    yield f"{model.n_variables} # variables"
    yield f"{model.rows.n_rows + len(model.quadratic_rows)} # constraints"
    if model.products is not None:
        yield f"{len(model.products.values)} # nonzeros in the lower triangle of Q0"
        yield from _triangle(model.products)
    yield from _vector(model.c, "objective")
    yield f"{_number(model.constant)} # constant of the objective"
    yield from _constraints(model)
    if kind != "B":
        yield from _vector(model.lower, "lower bound")
        yield from _vector(model.upper, "upper bound", usual=1.0)
    if kind in "MG":
        yield from _vector((model.kinds == Kind.INTEGER).astype(np.int64), "integer", usual=1.0)
    for what in ("start", "constraint multiplier", "bound multiplier"):
        yield f"0 # default {what}"
        yield f"0 # others {what}"
    yield "0 # variable names"
    yield "0 # constraint names"


def _variable_kind(model: CompiledModel) -> str:
    """Return B, I, M or G: all binary, all integer, or a mix of continuous with either."""
    whole = model.kinds == Kind.INTEGER
    unit = (model.lower == 0) & (model.upper == 1)
    if whole.all():
        return "B" if unit.all() else "I"
    return "M" if unit[whole].all() else "G"


def _constraints(model: CompiledModel) -> Iterator[str]:
    """Yield the linear rows first, then the quadratic ones."""
    n_linear = model.rows.n_rows
    if model.quadratic_rows:
        total = sum(len(row.products.values) for row in model.quadratic_rows)
        yield f"{total} # nonzeros in the lower triangles of the constraints"
        for k, row in enumerate(model.quadratic_rows, start=n_linear + 1):
            yield from _triangle(row.products, f"{k} ")
    matrix = model.rows.matrix.tocoo()
    extra = sum(len(row.variables) for row in model.quadratic_rows)
    yield f"{matrix.nnz + extra} # nonzeros in the linear parts of the constraints"
    for i, j, value in zip(
        matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True
    ):
        yield f"{i + 1} {j + 1} {_number(value)}"
    for k, row in enumerate(model.quadratic_rows, start=n_linear + 1):
        for j, value in zip(row.variables.tolist(), row.coefficients.tolist(), strict=True):
            yield f"{k} {j + 1} {_number(value)}"
    yield f"{INFINITY} # infinity"
    lower = [*model.rows.lower.tolist(), *(row.lower for row in model.quadratic_rows)]
    upper = [*model.rows.upper.tolist(), *(row.upper for row in model.quadratic_rows)]
    yield from _vector(np.array(lower), "lower side", usual=-np.inf)
    yield from _vector(np.array(upper), "upper side", usual=0.0)


def _triangle(products: Products, prefix: str = "") -> Iterator[str]:
    for i, j, value in zip(*(part.tolist() for part in products), strict=True):
        entry = 2 * value if i == j else value
        yield f"{prefix}{max(i, j) + 1} {min(i, j) + 1} {_number(entry)}"


def _vector(values: NDArray[np.generic], what: str, usual: float = 0.0) -> Iterator[str]:
    """Yield a default, the number of other values, and these."""
    others = np.flatnonzero(values != usual)
    yield f"{_finite(usual)} # default {what}"
    yield f"{len(others)} # others {what}"
    for position, value in zip(others.tolist(), values[others].tolist(), strict=True):
        yield f"{position + 1} {_finite(value)}"


def _finite(value: float) -> str:
    if np.isinf(value):
        return INFINITY if value > 0 else f"-{INFINITY}"
    return _number(value)


def _number(value: float) -> str:
    """Write a number so that reading it gives the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
