"""The parts that formulations share: the data of an instance, variables, constraints, objective.

Rules loop over sets only inside `sum`, so that Pyomo can keep them as templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.param import IndexedParam

from qpopt.models.compiled import Size
from qpopt.models.demands.assignment_rules import (
    absence,
    assignment_data,
    declare_assignments,
    used,
)
from qpopt.models.demands.class_rules import class_data
from qpopt.models.demands.sharing_rules import pair_data, stated_data
from qpopt.problem.instance import Instance


class Table(IndexedParam):  # type: ignore[misc]
    """A Param that takes its values as they are: an instance has checked them already."""

    def construct(self, data: Any = None) -> None:
        """Take the values."""
        for members in self._anonymous_sets or ():
            members.construct()
        self._data, self._constructed = {} if data is None else data, True


def declare(model: pyo.AbstractModel, instance: Instance, *, quadratic: bool) -> None:
    """Declare sets and parameters of an instance, s and w, and how redundant pairs are charged.

    Of the instance only counts what it has at all: the data is filled in by `build`.

    Pairs are charged either as products of s, or through y_dd' ≥ s_d + s_d' − 1: redundancy is
    never negative, so y takes the value of the product by itself.
    """
    model.n_select = pyo.Param(within=pyo.PositiveIntegers)
    model.n_per_class = pyo.Param(within=pyo.PositiveIntegers)
    model.classes = pyo.Set(dimen=1)
    model.features = pyo.Set(dimen=1)
    model.pairs = pyo.Set(dimen=2)
    model.included = pyo.Set(within=model.features, dimen=1)
    model.excluded = pyo.Set(within=model.features, dimen=1)
    model.similarity = Table(model.classes, model.features)
    model.redundancy = Table(model.pairs)
    model.bias = pyo.Param(model.features)
    model.s = pyo.Var(
        model.features,
        domain=pyo.Binary,
        bounds=lambda m, d: (int(d in m.included), int(d not in m.excluded)),
    )
    declare_assignments(model, instance)
    model.selected = pyo.Constraint(rule=lambda m: sum(m.s[d] for d in m.features) == m.n_select)
    if not quadratic:
        model.y = pyo.Var(model.pairs, bounds=(0, 1))
        model.charged = pyo.Constraint(
            model.pairs, rule=lambda m, d, e: m.y[d, e] >= m.s[d] + m.s[e] - 1
        )


def declare_linked(model: pyo.AbstractModel) -> None:
    """Declare w ≤ s, and the objective that is linear in w because of it."""
    model.linked = pyo.Constraint(
        model.classes, model.features, rule=lambda m, c, d: used(m, c, d) <= m.s[d]
    )
    declare_objective(model, lambda m, c, d: m.w[c, d])


def declare_objective(model: pyo.AbstractModel, assigned: Callable[[Any, Any, Any], Any]) -> None:
    """Declare Z, to be maximised, by what tells that a class has a feature and it is selected."""

    def charged(m: Any, d: Any, e: Any) -> Any:
        return m.y[d, e] if hasattr(m, "y") else m.s[d] * m.s[e]

    model.objective = pyo.Objective(
        rule=lambda m: (
            sum(m.similarity[c, d] * assigned(m, c, d) for c in m.classes for d in m.features)
            + absence(m)
            - sum(m.redundancy[d, e] * charged(m, d, e) for d, e in m.pairs)
            + sum(m.bias[d] * m.s[d] for d in m.features)
        ),
        sense=pyo.maximize,
    )


def declare_overlaps(model: pyo.AbstractModel) -> None:
    """Declare that the pairs of classes in `equal` must differ within the features `gamma`.

    The product w_cd w_c'd is a variable p of its own, pushed up by p ≥ w_cd + w_c'd − 1.
    """
    model.gamma = pyo.Set(within=model.features, dimen=1)
    model.equal = pyo.Set(dimen=2)
    model.p = pyo.Var(model.equal, model.gamma, bounds=(0, 1))
    model.both = pyo.Constraint(
        model.equal,
        model.gamma,
        rule=lambda m, c, other, d: m.p[c, other, d] >= m.w[c, d] + m.w[other, d] - 1,
    )
    model.distinct = pyo.Constraint(
        model.equal,
        rule=lambda m, c, other: sum(m.p[c, other, d] for d in m.gamma) <= m.n_per_class - 1,
    )


def build(model: pyo.AbstractModel, instance: Instance, **sets: Iterable[Any]) -> pyo.ConcreteModel:
    """Fill an abstract model with the data of an instance, and further sets by their names."""
    pairs, redundancies = instance.redundant_pairs()
    similarities = instance.A.ravel().tolist()
    # Every number is one object, however often it occurs.
    classes, features = list(range(instance.n_classes)), list(range(instance.n_features))
    sets |= {
        "classes": classes,
        "features": features,
        "pairs": [(features[d], features[e]) for d, e in pairs.tolist()],
        "included": instance.included,
        "excluded": instance.excluded,
    }
    data: dict[str, Any] = {name: {None: list(members)} for name, members in sets.items()}
    data |= {
        "n_select": {None: instance.n_select},
        "n_per_class": {None: instance.n_per_class},
        "similarity": dict(zip(product(classes, features), similarities, strict=True)),
        "redundancy": dict(zip(data["pairs"][None], redundancies.tolist(), strict=True)),
        "bias": dict(enumerate(instance.b.tolist())),
    }
    data |= {**assignment_data(instance), **class_data(instance), **pair_data(instance)}
    if hasattr(model, "all_pairs"):
        data |= stated_data(instance)
    return model.create_instance({None: data})


def linked_sizes(instance: Instance, variables: int = 0, rows: int = 0) -> list[Size]:
    """Return the sizes of a model with w ≤ s and so many more variables and rows, unbuilt.

    The first is that with products of s in the objective, the second that without.
    """
    pairs = np.count_nonzero(instance.R) // 2
    linked = instance.n_classes * instance.n_features
    variables += instance.n_features + linked
    rows += 1 + linked
    quadratic = Size(variables, rows, quadratic_objective=pairs > 0)
    return [quadratic, Size(variables + pairs, rows + pairs)]
