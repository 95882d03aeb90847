"""LP files, readable by people and by most solvers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from qpopt.export.names import ModelNames, number, side, sides
from qpopt.models.compiled import CompiledModel, Kind, Products

SIGNS = {"L": "<=", "G": ">=", "E": "="}
TERMS_PER_LINE = 8
"""Readers limit the length of a line."""


def lines(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    """Yield the lines of an LP file."""
    yield f"\\ {names.title}"
    yield "Maximize"
    yield " Z:"
    used = np.flatnonzero(model.c).tolist()
    yield from _wrapped(_linear(used, model.c[used].tolist(), names))
    if model.products is not None:
        # The objective is written as [ 2·products ] / 2.
        yield from _bracket(model.products, names, factor=2.0, after=" / 2")
    if model.constant:
        yield f" {_signed(model.constant)}"
    yield "Subject To"
    yield from _rows(model, names)
    yield "Bounds"
    for variable, low, high in zip(
        names.variables, model.lower.tolist(), model.upper.tolist(), strict=True
    ):
        yield f" {number(low)} <= {variable} <= {number(high)}"
    yield "Generals"
    yield from (f" {names.variables[j]}" for j in np.flatnonzero(model.kinds == Kind.INTEGER))
    yield "End"


def _rows(model: CompiledModel, names: ModelNames) -> Iterator[str]:
    matrix = model.rows.matrix
    for i, (sense, rhs) in enumerate(sides(model.rows)):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        yield f" {names.rows[i]}:"
        yield from _wrapped(
            _linear(matrix.indices[part].tolist(), matrix.data[part].tolist(), names)
        )
        yield f"  {SIGNS[sense]} {number(rhs)}"
    for name, row in zip(names.quadratic_rows, model.quadratic_rows, strict=True):
        sense, rhs = side(row.lower, row.upper)
        yield f" {name}:"
        yield from _wrapped(_linear(row.variables.tolist(), row.coefficients.tolist(), names))
        yield from _bracket(row.products, names)
        yield f"  {SIGNS[sense]} {number(rhs)}"


def _linear(columns: Iterable[int], values: Iterable[float], names: ModelNames) -> Iterator[str]:
    for j, value in zip(columns, values, strict=True):
        yield f"{_signed(value)} {names.variables[j]}"


def _bracket(
    products: Products, names: ModelNames, factor: float = 1.0, after: str = ""
) -> Iterator[str]:
    yield "  + ["
    variables = names.variables
    yield from _wrapped(
        f"{_signed(factor * value)} {variables[i]} * {variables[j]}"
        for i, j, value in zip(*(part.tolist() for part in products), strict=True)
    )
    yield f"  ]{after}"


def _wrapped(terms: Iterable[str]) -> Iterator[str]:
    waiting: list[str] = []
    for term in terms:
        waiting.append(term)
        if len(waiting) == TERMS_PER_LINE:
            yield "  " + " ".join(waiting)
            waiting.clear()
    if waiting:
        yield "  " + " ".join(waiting)


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {number(abs(value))}"
