"""Templates: one expression that stands for all rows of a component, read as arrays.

Pyomo calls a rule once with placeholders for the indices, where it is told to and the rule is of
that kind: it loops over sets only inside `sum`. Such a template is evaluated here for all indices
at once. What is not understood is refused, and then compiled row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
import pyomo.core.base.constraint
import pyomo.core.base.objective
import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr import numeric_expr, template_expr

from qpopt.models.compiled import Block, Floats
from qpopt.models.keys import Integers, Keys, Refusal

_building = RLock()


@contextmanager
def templates() -> Iterator[None]:
    """Let Pyomo keep constraints and objectives as templates while a model is filled with data."""
    constraint, objective = pyomo.core.base.constraint, pyomo.core.base.objective
    with _building:
        before = constraint.TEMPLATIZE_CONSTRAINTS, objective.TEMPLATIZE_OBJECTIVES
        constraint.TEMPLATIZE_CONSTRAINTS = objective.TEMPLATIZE_OBJECTIVES = True
        try:
            yield
        finally:
            constraint.TEMPLATIZE_CONSTRAINTS, objective.TEMPLATIZE_OBJECTIVES = before


def write_out(component: Any) -> None:
    """Turn every template of a component into what it stands for."""
    for member in component.values():
        if is_template(member):
            member.set_value(component.rule(component.parent_block(), member.index()))


def is_template(member: Any) -> bool:
    """Tell whether a constraint or an objective is kept as a template."""
    return hasattr(member, "template_expr")


class Form(NamedTuple):
    """Expressions of degree two, one for each row.

    Parameters
    ----------
    constant
        The constants, one for each row.
    linear
        Row, variable and coefficient of every linear term.
    products
        Row, the lower variable, the higher one and the coefficient of every product.
    lower, upper
        The sides of the rows; infinite where there is none.
    """

    constant: Floats
    linear: tuple[Integers, Integers, Floats]
    products: tuple[Integers, Integers, Integers, Floats]
    lower: Floats
    upper: Floats

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.constant)


class _Terms(NamedTuple):
    """Terms of one degree: the points that they belong to, or None for one at each."""

    points: Integers | None
    columns: tuple[Integers, ...]
    values: Floats

    def at(self, points: Integers) -> _Terms:
        """Return the terms of these points, where there is one at each."""
        columns = tuple(column[points] for column in self.columns)
        return _Terms(points, columns, self.values[points])


class _Points(NamedTuple):
    """The values of all placeholders at so many points."""

    n: int
    values: Mapping[int, Integers]

    def times(self, placeholders: Sequence[Any], keys: Integers) -> _Points:
        """Return every point with each of the keys for further placeholders."""
        known = {name: np.repeat(column, len(keys)) for name, column in self.values.items()}
        more = {
            id(placeholder): np.tile(column, self.n)
            for placeholder, column in zip(placeholders, keys.T, strict=True)
        }
        return _Points(self.n * len(keys), known | more)


class TemplateReader:
    """Reads the templates of a model whose variables lie where the blocks say.

    Variables must not be fixed: a template does not tell.
    """

    def __init__(self, blocks: Mapping[str, Block]) -> None:
        self._blocks = blocks
        self._keys = Keys()
        self._values: dict[int, Floats] = {}

    def objective(self, objective: Any) -> Form | None:
        """Return an objective, or None where it is no template or none that is understood."""
        if not is_template(objective):
            return None
        try:
            return self._form(objective.template_expr()[0], _Points(1, {}))
        except Refusal:
            return None

    def constraint(self, component: Any) -> Form | None:
        """Return the active rows of a constraint, or None; see `objective`."""
        members = list(component.values())
        # A row that was given an expression of its own is no template any more.
        if not all(map(is_template, members)):
            return None
        _, placeholders = members[0].template_expr()
        try:
            keys = self._keys.of(component)
            active = np.array([member.active for member in members])
            points = _Points(1, {}).times(placeholders, keys[active])
            lower, body, upper = members[0].to_bounded_expression()
            form = self._form(body, points)
            form = form._replace(
                lower=self._side(lower, points, -np.inf) - form.constant,
                upper=self._side(upper, points, np.inf) - form.constant,
            )
        except Refusal:
            return None
        # Rows without variables are decided elsewhere, and two different sides are two rows.
        there = np.bincount(np.concatenate([form.linear[0], form.products[0]]), minlength=points.n)
        ranged = np.isfinite(form.lower) & np.isfinite(form.upper) & (form.lower != form.upper)
        return None if not there.all() or ranged.any() else form

    def _form(self, expression: Any, points: _Points) -> Form:
        constant = np.zeros(points.n)
        parts: dict[int, list[tuple[Any, ...]]] = {1: [], 2: []}
        for terms in self._terms(expression, points):
            rows = np.arange(points.n) if terms.points is None else terms.points
            if not terms.columns:
                constant += np.bincount(rows, terms.values, minlength=points.n)
                continue
            there = np.flatnonzero(terms.values)
            columns = [column[there] for column in terms.columns]
            if len(columns) == 2:
                columns = [np.minimum(*columns), np.maximum(*columns)]
            parts[len(columns)].append((rows[there], *columns, terms.values[there]))
        linear, products = (_together(parts[degree], degree) for degree in (1, 2))
        infinite = np.full(points.n, np.inf)
        return Form(constant, linear, products, -infinite, infinite)

    def _side(self, expression: Any, points: _Points, otherwise: float) -> Floats:
        if expression is None:
            return np.full(points.n, otherwise)
        return self._numbers(expression, points)

    def _numbers(self, expression: Any, points: _Points) -> Floats:
        """Evaluate an expression without variables."""
        total = np.zeros(points.n)
        for terms in self._terms(expression, points):
            if terms.columns:
                raise Refusal
            rows = np.arange(points.n) if terms.points is None else terms.points
            total += np.bincount(rows, terms.values, minlength=points.n)
        return total

    def _terms(self, expression: Any, points: _Points) -> list[_Terms]:
        if expression.__class__ in native_numeric_types:
            return [_Terms(None, (), np.full(points.n, float(expression)))]
        if isinstance(expression, template_expr.IndexTemplate):
            return [_Terms(None, (), points.values[id(expression)].astype(np.float64))]
        if isinstance(expression, template_expr.GetItemExpression):
            component, *index = expression.args
            return [self._member(component, index, points)]
        if isinstance(expression, template_expr.TemplateSumExpression):
            return self._sum(expression, points)
        if isinstance(expression, numeric_expr.NegationExpression):
            (inner,) = expression.args
            return [terms._replace(values=-terms.values) for terms in self._terms(inner, points)]
        if isinstance(expression, numeric_expr.ProductExpression):
            first, second = (self._terms(factor, points) for factor in expression.args)
            return [_product(one, other) for one in first for other in second]
        if isinstance(expression, numeric_expr.SumExpression):
            return [terms for part in expression.args for terms in self._terms(part, points)]
        if isinstance(expression, pyo.Var | pyo.Param) and not expression.is_indexed():
            return [self._member(expression, (), points)]
        raise Refusal

    def _sum(self, expression: Any, points: _Points) -> list[_Terms]:
        body, *sets = expression.template_args()
        inner = points
        for placeholders, members in zip(expression.template_iters(), sets, strict=True):
            if members.is_expression_type() or members.ctype is not pyo.Set:
                raise Refusal
            inner = inner.times(placeholders, self._keys.members(members))
        if not inner.n:
            return []
        each = inner.n // points.n
        found = self._terms(body, inner)
        numbers = np.arange(inner.n)
        return [
            terms._replace(points=(numbers if terms.points is None else terms.points) // each)
            for terms in found
        ]

    def _member(self, component: Any, index: Sequence[Any], points: _Points) -> _Terms:
        """Return the members of a Var or Param that an index names at every point."""
        places: Integers = np.zeros(points.n, dtype=np.int64)
        if component.is_indexed():
            columns = [self._whole(part, points) for part in index]
            places = self._keys.positions(component, columns, points.n)
        if component.ctype is pyo.Var:
            block = self._blocks.get(component.local_name)
            if block is None:
                raise Refusal
            return _Terms(None, (block.start + places,), np.ones(points.n))
        if component.ctype is not pyo.Param:
            raise Refusal
        if id(component) not in self._values:
            values = [pyo.value(value) for value in component.values()]
            if not native_numeric_types.issuperset(map(type, values)):
                raise Refusal
            self._values[id(component)] = np.array(values, dtype=np.float64)
        return _Terms(None, (), self._values[id(component)][places])

    def _whole(self, expression: Any, points: _Points) -> Integers:
        if isinstance(expression, template_expr.IndexTemplate):
            return points.values[id(expression)]
        numbers = self._numbers(expression, points)
        whole = numbers.astype(np.int64)
        if (whole != numbers).any():
            raise Refusal
        return whole


def _product(one: _Terms, other: _Terms) -> _Terms:
    if one.points is None and other.points is not None:
        one = one.at(other.points)
    elif other.points is None and one.points is not None:
        other = other.at(one.points)
    elif one.points is not None:
        raise Refusal
    columns = (*one.columns, *other.columns)
    if len(columns) > 2:
        raise Refusal
    return _Terms(one.points, columns, one.values * other.values)


def _together(parts: list[tuple[Any, ...]], degree: int) -> Any:
    whole = [np.zeros(0, dtype=np.int64)] * (degree + 1)
    return tuple(
        np.concatenate(column) for column in zip((*whole, np.zeros(0)), *parts, strict=True)
    )
