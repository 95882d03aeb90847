"""From a concrete Pyomo model to arrays.

Components that Pyomo keeps as templates are read as a whole. Other linear constraints go through
Pyomo's standard-form compiler in one piece, and other expressions with products of variables are
walked one at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from pyomo.repn.quadratic import QuadraticRepnVisitor
from pyomo.repn.util import OrderedVarRecorder
from scipy import sparse

from qpopt.models.compiled import Block, CompiledModel, Kind, Products, QuadraticRow, Rows
from qpopt.models.templates import Form, TemplateReader, write_out

Columns = dict[int, int]


class _Linear(NamedTuple):
    variables: NDArray[np.int64]
    coefficients: NDArray[np.float64]


class _Part(NamedTuple):
    """A constraint, and its rows where they were read as a whole."""

    component: Any
    linear: Rows | None = None
    quadratic: tuple[QuadraticRow, ...] = ()

    @property
    def read(self) -> bool:
        """Whether it was."""
        return self.linear is not None or bool(self.quadratic)


def compile_model(model: pyo.ConcreteModel, *, implied: Collection[str] = ()) -> CompiledModel:
    """Compile a concrete model with one objective, which is maximised.

    Variables keep the order in which they are declared; there is one block for every Var. Those
    named in `implied` are continuous, but whole in some optimal solution.
    """
    blocks, variables = _blocks(model)
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    constraints = [part for part in model.component_objects(pyo.Constraint, active=True) if part]
    walker = _Walker(variables)
    fixed = any(variable.fixed for variable in variables)
    parts = [_Part(component) for component in constraints]
    target = None
    if not fixed:
        reader = TemplateReader(blocks)
        parts = [_part(component, reader, walker.n) for component in constraints]
        target = reader.objective(objective)
        del reader  # and all that it remembers
    for part in parts:
        if not part.read:
            write_out(part.component)
    constant, terms, products = (
        walker.terms(objective.expr) if target is None else next(_each(target, walker.n))
    )
    c = np.zeros(walker.n)
    c[terms.variables] = terms.coefficients
    return CompiledModel(
        c=c,
        constant=constant,
        rows=_rows(model, objective, parts, walker),
        lower=_bounds([variable.lb for variable in variables], -np.inf),
        upper=_bounds([variable.ub for variable in variables], np.inf),
        kinds=_kinds(model, blocks, implied, walker.n),
        blocks=blocks,
        products=products if len(products.values) else None,
        quadratic_rows=tuple(row for part in parts for row in _quadratic_rows(part, walker)),
    )


def _blocks(model: pyo.ConcreteModel) -> tuple[dict[str, Block], list[Any]]:
    """Return where the variables of each name lie, and all variables in that order."""
    blocks: dict[str, Block] = {}
    variables: list[Any] = []
    for component in model.component_objects(pyo.Var, active=True):
        shape = tuple(len(part) for part in component.index_set().subsets())
        if int(np.prod(shape)) != len(component):
            shape = (len(component),)
        blocks[component.local_name] = Block(len(variables), shape)
        variables.extend(component.values())
    return blocks, variables


def _bounds(given: list[float | None], otherwise: float) -> NDArray[np.float64]:
    bounds = np.array(given, dtype=np.float64)
    return np.where(np.isnan(bounds), otherwise, bounds)


def _kinds(
    model: pyo.ConcreteModel, blocks: dict[str, Block], implied: Collection[str], n: int
) -> NDArray[np.int8]:
    kinds = np.full(n, Kind.CONTINUOUS, dtype=np.int8)
    for name, block in blocks.items():
        first = next(iter(model.component(name).values()), None)
        if name in implied:
            kinds[block.start : block.stop] = Kind.IMPLIED
        elif first is not None and not first.is_continuous():
            kinds[block.start : block.stop] = Kind.INTEGER
    return kinds


def _part(component: Any, reader: TemplateReader, n: int) -> _Part:
    form = reader.constraint(component)
    if form is None:
        return _Part(component)
    if len(form.products[-1]):
        sides = zip(form.lower.tolist(), form.upper.tolist(), strict=True)
        rows = zip(_each(form, n), sides, strict=True)
        return _Part(
            component,
            quadratic=tuple(
                QuadraticRow(linear.variables, linear.coefficients, products, lower, upper)
                for (_, linear, products), (lower, upper) in rows
            ),
        )
    row, column, values = form.linear
    matrix = sparse.csr_array((values, (row, column)), shape=(form.n_rows, n))
    return _Part(component, Rows(matrix, form.lower, form.upper))


def _is_quadratic(component: Any) -> bool:
    """Tell whether a constraint has products, judged by its first member."""
    return next(iter(component.values())).body.polynomial_degree() not in (0, 1)


def _rows(
    model: pyo.ConcreteModel, objective: Any, parts: Sequence[_Part], walker: _Walker
) -> Rows:
    """Return all linear constraints, in the order in which they are declared."""
    rows = [Rows(sparse.csr_array((0, walker.n)), np.zeros(0), np.zeros(0))]
    hidden = [part.component for part in parts if part.read or _is_quadratic(part.component)]
    written: dict[int, Rows] = {}
    if len(hidden) < len(parts):
        written = _standard_form(model, [objective, *hidden], walker.columns)
    for part in parts:
        if part.linear is not None:
            rows.append(part.linear)
        elif id(part.component) in written:
            rows.append(written[id(part.component)])
    matrix = sparse.vstack([part.matrix for part in rows], format="csr")
    matrix.eliminate_zeros()
    lower = np.concatenate([part.lower for part in rows])
    return Rows(matrix, lower, np.concatenate([part.upper for part in rows]))


def _standard_form(
    model: pyo.ConcreteModel, hidden: Sequence[Any], columns: Columns
) -> dict[int, Rows]:
    """Compile all components but the hidden ones at once; return the rows of each, by its id."""
    passive = [member for part in hidden for member in part.values() if not member.active]
    for part in hidden:
        part.deactivate()
    try:
        form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    finally:
        for part in hidden:
            part.activate()
        for member in passive:
            member.deactivate()
    matrix = form.A.tocoo()
    position = np.array([columns[id(variable)] for variable in form.columns], dtype=np.int64)
    aligned = sparse.csr_array(
        (matrix.data.astype(np.float64), (matrix.row, position[matrix.col])),
        shape=(matrix.shape[0], len(columns)),
    )
    # A row is ≤, = or ≥ its right-hand side, told by 1, 0 and −1.
    sides = np.array([row.bound_type for row in form.rows])
    rhs = np.asarray(form.rhs, dtype=np.float64)
    lower, upper = np.where(sides <= 0, rhs, -np.inf), np.where(sides >= 0, rhs, np.inf)
    owners = np.array([id(row.constraint.parent_component()) for row in form.rows])
    return {
        int(owner): Rows(aligned[owners == owner], lower[owners == owner], upper[owners == owner])
        for owner in np.unique(owners)
    }


def _quadratic_rows(part: _Part, walker: _Walker) -> Iterator[QuadraticRow]:
    if part.read:
        yield from part.quadratic
    elif _is_quadratic(part.component):
        yield from (walker.row(member) for member in part.component.values() if member.active)


def _each(form: Form, n: int) -> Iterator[tuple[float, _Linear, Products]]:
    """Yield constant, linear terms and products of every row of `n` variables."""
    row, variables, coefficients = form.linear
    (row, variables), coefficients = _summed([row, variables], coefficients, n)
    pair, first, second, values = form.products
    (pair, first, second), values = _summed([pair, first, second], values, n)
    ends = np.arange(form.n_rows + 1)
    linear = np.searchsorted(row, ends).tolist()
    quadratic = np.searchsorted(pair, ends).tolist()
    for r, constant in enumerate(form.constant.tolist()):
        at, of = slice(*linear[r : r + 2]), slice(*quadratic[r : r + 2])
        yield (
            constant,
            _Linear(variables[at], coefficients[at]),
            Products(first[of], second[of], values[of]),
        )


def _summed(
    keys: list[NDArray[np.int64]], values: NDArray[np.float64], n: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Add what has the same keys, each of them below `n` but the first; sort by the first key."""
    codes = keys[0]
    for key in keys[1:]:
        codes = codes * n + key
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    sums = np.bincount(inverse, values, minlength=len(first))
    order = np.lexsort([first, keys[0][first]])
    order = order[sums[order] != 0.0]
    return [key[first[order]] for key in keys], sums[order]


class _Walker:
    """Takes expressions of degree two apart into constant, linear terms and products."""

    def __init__(self, variables: list[Any]) -> None:
        self.variables = variables
        self.n = len(variables)

    @cached_property
    def columns(self) -> Columns:
        """The position of every variable, by its id."""
        return {id(variable): j for j, variable in enumerate(self.variables)}

    @cached_property
    def visitor(self) -> QuadraticRepnVisitor:
        """What walks the expressions."""
        known = {id(variable): variable for variable in self.variables}
        recorder = OrderedVarRecorder(known, dict(self.columns), None)
        return QuadraticRepnVisitor({}, var_recorder=recorder)

    def terms(self, expression: Any) -> tuple[float, _Linear, Products]:
        terms = self.visitor.walk_expression(expression)
        if terms.nonlinear is not None:
            raise ValueError("A formulation may hold products of two variables, nothing beyond.")
        products = terms.quadratic or {}
        pairs = np.array(
            [sorted((self.columns[i], self.columns[j])) for i, j in products], dtype=np.int64
        ).reshape(-1, 2)
        values = np.array(list(products.values()), dtype=np.float64)
        linear = _Linear(
            np.array([self.columns[i] for i in terms.linear], dtype=np.int64),
            np.array(list(terms.linear.values()), dtype=np.float64),
        )
        return float(terms.constant), linear, Products(pairs[:, 0], pairs[:, 1], values)

    def row(self, row: Any) -> QuadraticRow:
        constant, linear, products = self.terms(row.body)
        lower = -np.inf if row.lb is None else float(row.lb) - constant
        upper = np.inf if row.ub is None else float(row.ub) - constant
        return QuadraticRow(linear.variables, linear.coefficients, products, lower, upper)
