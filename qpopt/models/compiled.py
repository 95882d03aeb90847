"""CompiledModel: one optimisation problem as arrays, the only form that solvers see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]


class Kind(IntEnum):
    """What values a variable may take.

    An implied variable may be treated as continuous or as integer: it has an optimal value that
    is whole whenever the integer variables are.
    """

    CONTINUOUS = 0
    INTEGER = 1
    IMPLIED = 2


class Size(NamedTuple):
    """What a solver needs to know of a model before it is built."""

    variables: int
    rows: int
    quadratic_objective: bool = False
    quadratic_rows: bool = False


class Rows(NamedTuple):
    """Linear constraints ``lower ≤ matrix · x ≤ upper``."""

    matrix: sparse.csr_array
    lower: Floats
    upper: Floats

    @property
    def n_rows(self) -> int:
        """The number of constraints."""
        return int(self.matrix.shape[0])


class Products(NamedTuple):
    """A quadratic form ``Σ values x_first x_second``, every product once."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    values: Floats

    def at(self, x: Floats) -> float:
        """Compute the quadratic form at `x`."""
        return float(self.values @ (x[self.first] * x[self.second]))


class QuadraticRow(NamedTuple):
    """One constraint ``lower ≤ Σ coefficients x_variables + Σ products ≤ upper``."""

    variables: NDArray[np.int64]
    coefficients: Floats
    products: Products
    lower: float
    upper: float


class Block(NamedTuple):
    """Where the variables of one name lie: the first one, and the shape they have together."""

    start: int
    shape: tuple[int, ...]

    @property
    def stop(self) -> int:
        """The index after the last variable."""
        return self.start + prod(self.shape)


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """Maximise ``c · x + constant + Σ products`` under linear and quadratic constraints.

    Parameters
    ----------
    c, constant
        The linear objective.
    rows
        The linear constraints.
    lower, upper
        Bounds of the variables.
    kinds
        For every variable whether it is continuous, integer or implied; see `Kind`.
    blocks
        Where the variables of each name lie.
    products
        The quadratic part of the objective, or None.
    quadratic_rows
        Constraints with products.
    """

    c: Floats
    constant: float
    rows: Rows
    lower: Floats
    upper: Floats
    kinds: NDArray[np.int8]
    blocks: Mapping[str, Block]
    products: Products | None = None
    quadratic_rows: tuple[QuadraticRow, ...] = ()

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.c)

    def block(self, name: str, x: NDArray[Any]) -> NDArray[Any]:
        """Return the view of `x` that holds the variables called `name`, in their own shape."""
        block = self.blocks[name]
        return x[block.start : block.stop].reshape(block.shape)

    def with_rows(self, more: Rows) -> CompiledModel:
        """Return the model with further linear constraints."""
        rows = Rows(
            sparse.vstack([self.rows.matrix, more.matrix], format="csr"),
            np.concatenate([self.rows.lower, more.lower]),
            np.concatenate([self.rows.upper, more.upper]),
        )
        return replace(self, rows=rows)

    def value(self, x: Floats) -> float:
        """Compute the objective of this model at `x`."""
        total = float(self.c @ x) + self.constant
        if self.products is not None:
            total += self.products.at(x)
        return total
