"""Names of variables and constraints, and numbers written without loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from qpopt.models.compiled import CompiledModel, Rows


class ModelNames:
    """What the parts of an exported model are called.

    Parameters
    ----------
    model
        The model.
    irregular
        Names for the blocks of variables that are not a full grid of indices.
    title
        The name of the instance.
    """

    def __init__(
        self, model: CompiledModel, irregular: Mapping[str, Sequence[str]], title: str
    ) -> None:
        self.title = "".join(c if c.isalnum() or c in "-_." else "_" for c in title) or "qpopt"
        self.variables: list[str] = []
        for name, block in model.blocks.items():
            if name in irregular and len(irregular[name]) == block.stop - block.start:
                self.variables.extend(irregular[name])
            else:
                grid = np.ndindex(*block.shape)
                self.variables.extend(f"{name}_{'_'.join(map(str, index))}" for index in grid)
        self.rows = [f"r{i}" for i in range(model.rows.n_rows)]
        self.quadratic_rows = [f"q{i}" for i in range(len(model.quadratic_rows))]


class Side(NamedTuple):
    """One constraint's sense, as the letters L, G and E of MPS files, and its right-hand side."""

    sense: str
    rhs: float


def side(lower: float, upper: float) -> Side:
    """Return the sense of a constraint that is bounded on one side or an equation."""
    if lower == upper:
        return Side("E", upper)
    if lower == -np.inf:
        return Side("L", upper)
    if upper == np.inf:
        return Side("G", lower)
    raise ValueError("A constraint with two different bounds has no sense.")


def sides(rows: Rows) -> Iterator[Side]:
    """Yield the sense and right-hand side of every row."""
    for lower, upper in zip(rows.lower.tolist(), rows.upper.tolist(), strict=True):
        yield side(lower, upper)


def number(value: float) -> str:
    """Write a number so that reading it gives the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
