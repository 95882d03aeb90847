"""Free MPS files, with the sections for products that common solvers read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qpopt.export.names import ModelNames, number, side, sides
from qpopt.models.compiled import CompiledModel, Kind


def lines(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    """Yield the lines of a free MPS file; the objective row is called Z and is maximised."""
    yield f"NAME {names.title}"
    yield "OBJSENSE"
    yield "    MAX"
    yield from _rows(model, names)
    yield from _columns(model, names)
    yield from _right_hand_sides(model, names)
    yield from _bounds(model, names)
    yield from _products(model, names)
    yield "ENDATA"


def _rows(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    yield "ROWS"
    yield " N Z"
    for name, (sense, _) in zip(names.rows, sides(model.rows), strict=True):
        yield f" {sense} {name}"
    for name, row in zip(names.quadratic_rows, model.quadratic_rows, strict=True):
        yield f" {side(row.lower, row.upper).sense} {name}"


def _columns(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    yield "COLUMNS"
    matrix = model.rows.matrix.tocsc()
    linear: dict[int, list[str]] = {}
    for name, row in zip(names.quadratic_rows, model.quadratic_rows, strict=True):
        for j, value in zip(row.variables.tolist(), row.coefficients.tolist(), strict=True):
            linear.setdefault(j, []).append(f" {name} {number(value)}")
    inside = False
    for j, variable in enumerate(names.variables):
        whole = model.kinds[j] == Kind.INTEGER
        if whole != inside:
            yield _marker(j, "INTORG" if whole else "INTEND")
            inside = whole
        # Every column is named here, also one that has only products.
        yield f" {variable} Z {number(model.c[j])}"
        part = slice(matrix.indptr[j], matrix.indptr[j + 1])
        for i, value in zip(matrix.indices[part], matrix.data[part], strict=True):
            yield f" {variable} {names.rows[i]} {number(value)}"
        for entry in linear.get(j, ()):
            yield f" {variable}{entry}"
    if inside:
        yield _marker(model.n_variables, "INTEND")


def _marker(number_of_column: int, what: str) -> str:
    return f" MARKER{number_of_column} 'MARKER' '{what}'"


def _right_hand_sides(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    yield "RHS"
    if model.constant:
        yield f" RHS Z {number(-model.constant)}"
    for name, (_, rhs) in zip(names.rows, sides(model.rows), strict=True):
        if rhs:
            yield f" RHS {name} {number(rhs)}"
    for name, row in zip(names.quadratic_rows, model.quadratic_rows, strict=True):
        if rhs := side(row.lower, row.upper).rhs:
            yield f" RHS {name} {number(rhs)}"


def _bounds(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    yield "BOUNDS"
    bounds = zip(model.lower.tolist(), model.upper.tolist(), strict=True)
    for variable, (lower, upper) in zip(names.variables, bounds, strict=True):
        if lower == upper:
            yield f" FX BOUND {variable} {number(lower)}"
            continue
        if lower:
            yield f" LO BOUND {variable} {number(lower)}"
        if np.isfinite(upper):
            yield f" UP BOUND {variable} {number(upper)}"


def _products(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    """Yield ½xᵀQx of the objective by its triangle, xᵀQx of a constraint by its whole matrix."""
    variables = names.variables
    if model.products is not None:
        yield "QUADOBJ"
        for i, j, value in zip(*(part.tolist() for part in model.products), strict=True):
            entry = 2 * value if i == j else value
            yield f" {variables[i]} {variables[j]} {number(entry)}"
    for name, row in zip(names.quadratic_rows, model.quadratic_rows, strict=True):
        yield f"QCMATRIX {name}"
        for i, j, value in zip(*(part.tolist() for part in row.products), strict=True):
            if i == j:
                yield f" {variables[i]} {variables[i]} {number(value)}"
            else:
                yield f" {variables[i]} {variables[j]} {number(value / 2)}"
                yield f" {variables[j]} {variables[i]} {number(value / 2)}"
