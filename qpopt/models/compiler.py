"""From a concrete Pyomo model to arrays.

Linear constraints go through Pyomo's standard-form compiler in one piece. Components with products
of variables, the objective among them, are walked one expression at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from pyomo.repn.quadratic import QuadraticRepnVisitor
from pyomo.repn.util import OrderedVarRecorder
from scipy import sparse

from qpopt.models.compiled import Block, CompiledModel, Kind, Products, QuadraticRow, Rows

Columns = dict[int, int]


class _Linear(NamedTuple):
    variables: NDArray[np.int64]
    coefficients: NDArray[np.float64]


def compile_model(model: pyo.ConcreteModel, *, implied: Collection[str] = ()) -> CompiledModel:
    """Compile a concrete model with one objective, which is maximised.

    Variables keep the order in which they are declared; there is one block for every Var. Those
    named in `implied` are continuous, but whole in some optimal solution.
    """
    blocks, variables = _blocks(model)
    columns = {id(variable): j for j, variable in enumerate(variables)}
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    linear, quadratic = _by_degree(model.component_objects(pyo.Constraint, active=True))
    walker = _Walker(variables, columns)
    constant, terms, products = walker.terms(objective.expr)
    c = np.zeros(len(variables))
    c[terms.variables] = terms.coefficients
    return CompiledModel(
        c=c,
        constant=constant,
        rows=_rows(model, objective, linear, quadratic, columns),
        lower=np.array([variable.lb for variable in variables], dtype=np.float64),
        upper=np.array([variable.ub for variable in variables], dtype=np.float64),
        kinds=_kinds(model, blocks, implied, len(variables)),
        blocks=blocks,
        products=products if len(products.values) else None,
        quadratic_rows=tuple(walker.row(row) for part in quadratic for row in part.values()),
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


def _by_degree(components: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Split constraint components into linear and quadratic ones, judged by their first member."""
    linear: list[Any] = []
    quadratic: list[Any] = []
    for component in components:
        first = next(iter(component.values()), None)
        if first is not None:
            degree = first.body.polynomial_degree()
            (linear if degree in (0, 1) else quadratic).append(component)
    return linear, quadratic


def _rows(
    model: pyo.ConcreteModel,
    objective: Any,
    linear: list[Any],
    quadratic: list[Any],
    columns: Columns,
) -> Rows:
    """Compile all linear constraints at once, in the order in which they are declared."""
    n = len(columns)
    if not linear:
        nothing = np.zeros(0)
        return Rows(sparse.csr_array((0, n)), nothing, nothing)
    hidden = [objective, *quadratic]
    for part in hidden:
        part.deactivate()
    try:
        form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    finally:
        for part in hidden:
            part.activate()
    matrix = form.A.tocoo()
    position = np.array([columns[id(variable)] for variable in form.columns], dtype=np.int64)
    aligned = sparse.csr_array(
        (matrix.data.astype(np.float64), (matrix.row, position[matrix.col])),
        shape=(matrix.shape[0], n),
    )
    # A row is ≤, = or ≥ its right-hand side, told by 1, 0 and −1.
    sides = np.array([row.bound_type for row in form.rows])
    rhs = np.asarray(form.rhs, dtype=np.float64)
    return Rows(aligned, np.where(sides <= 0, rhs, -np.inf), np.where(sides >= 0, rhs, np.inf))


class _Walker:
    """Takes expressions of degree two apart into constant, linear terms and products."""

    def __init__(self, variables: list[Any], columns: Columns) -> None:
        known = {id(variable): variable for variable in variables}
        recorder = OrderedVarRecorder(known, dict(columns), None)
        self.visitor = QuadraticRepnVisitor({}, var_recorder=recorder)
        self.columns = columns

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
