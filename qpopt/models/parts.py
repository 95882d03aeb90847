"""The parts that formulations share: the data of an instance, variables, constraints, objective."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyomo.environ as pyo

from qpopt.models.compiled import Size
from qpopt.problem.instance import Instance


def declare(model: pyo.AbstractModel, *, quadratic: bool) -> None:
    """Declare sets and parameters of an instance, s and w, and how redundant pairs are charged.

    Pairs are charged either as products of s, or through y_dd' ≥ s_d + s_d' − 1: redundancy is
    never negative, so y takes the value of the product by itself.
    """
    model.n_select = pyo.Param(within=pyo.PositiveIntegers)
    model.n_per_class = pyo.Param(within=pyo.PositiveIntegers)
    model.classes = pyo.Set()
    model.features = pyo.Set()
    model.pairs = pyo.Set(dimen=2)
    model.included = pyo.Set(within=model.features)
    model.excluded = pyo.Set(within=model.features)
    model.similarity = pyo.Param(model.classes, model.features)
    model.redundancy = pyo.Param(model.pairs)
    model.bias = pyo.Param(model.features)
    model.s = pyo.Var(model.features, domain=pyo.Binary, bounds=_fixed)
    model.w = pyo.Var(model.classes, model.features, domain=pyo.Binary)
    model.selected = pyo.Constraint(rule=_selected)
    if quadratic:
        model.charges = pyo.Expression(rule=_charged_products)
    else:
        model.y = pyo.Var(model.pairs, bounds=(0, 1))
        model.charged = pyo.Constraint(model.pairs, rule=_charged)
        model.charges = pyo.Expression(rule=_charged_pairs)


def declare_linked(model: pyo.AbstractModel) -> None:
    """Declare w ≤ s, and the objective that is linear in w because of it."""
    model.linked = pyo.Constraint(model.classes, model.features, rule=_linked)
    model.objective = pyo.Objective(rule=_linked_objective, sense=pyo.maximize)


def declare_overlaps(model: pyo.AbstractModel) -> None:
    """Declare that the pairs of classes in `equal` must differ within the features `gamma`.

    The product w_cd w_c'd is a variable p of its own, pushed up by p ≥ w_cd + w_c'd − 1.
    """
    model.gamma = pyo.Set(within=model.features)
    model.equal = pyo.Set(dimen=2)
    model.p = pyo.Var(model.equal, model.gamma, bounds=(0, 1))
    model.both = pyo.Constraint(model.equal, model.gamma, rule=_both)
    model.distinct = pyo.Constraint(model.equal, rule=_distinct)


def build(model: pyo.AbstractModel, instance: Instance, **sets: Iterable[Any]) -> pyo.ConcreteModel:
    """Fill an abstract model with the data of an instance, and further sets by their names."""
    pairs, redundancies = instance.redundant_pairs()
    sets |= {
        "classes": range(instance.n_classes),
        "features": range(instance.n_features),
        "pairs": [(d, e) for d, e in pairs.tolist()],
        "included": instance.include,
        "excluded": instance.exclude,
    }
    data: dict[str, Any] = {name: {None: list(members)} for name, members in sets.items()}
    data |= {
        "n_select": {None: instance.n_select},
        "n_per_class": {None: instance.n_per_class},
        "similarity": {
            (c, d): value
            for c, row in enumerate(instance.A.tolist())
            for d, value in enumerate(row)
        },
        "redundancy": dict(zip(data["pairs"][None], redundancies.tolist(), strict=True)),
        "bias": dict(enumerate(instance.b.tolist())),
    }
    return model.create_instance({None: data})


def linked_size(instance: Instance, *, quadratic: bool, variables: int = 0, rows: int = 0) -> Size:
    """Return the size of a model with w ≤ s and so many more variables and rows, unbuilt."""
    pairs = np.count_nonzero(instance.R) // 2
    linked = instance.n_classes * instance.n_features
    variables += instance.n_features + linked
    rows += 1 + linked
    if quadratic:
        return Size(variables, rows, quadratic_objective=pairs > 0)
    return Size(variables + pairs, rows + pairs)


def selected_bias(model: Any) -> Any:
    """Return Σ b_d s_d."""
    return pyo.quicksum(model.bias[d] * model.s[d] for d in model.features)


def _linked(model: Any, c: int, d: int) -> Any:
    return model.w[c, d] <= model.s[d]


def _linked_objective(model: Any) -> Any:
    similarity = pyo.quicksum(
        model.similarity[c, d] * model.w[c, d] for c in model.classes for d in model.features
    )
    return similarity - model.charges + selected_bias(model)


def _fixed(model: Any, d: int) -> tuple[int, int]:
    return int(d in model.included), int(d not in model.excluded)


def _selected(model: Any) -> Any:
    return pyo.quicksum(model.s[d] for d in model.features) == model.n_select


def _charged(model: Any, d: int, e: int) -> Any:
    return model.y[d, e] >= model.s[d] + model.s[e] - 1


def _both(model: Any, c: int, other: int, d: int) -> Any:
    return model.p[c, other, d] >= model.w[c, d] + model.w[other, d] - 1


def _distinct(model: Any, c: int, other: int) -> Any:
    return pyo.quicksum(model.p[c, other, d] for d in model.gamma) <= model.n_per_class - 1


def _charged_products(model: Any) -> Any:
    return pyo.quicksum(model.redundancy[d, e] * model.s[d] * model.s[e] for d, e in model.pairs)


def _charged_pairs(model: Any) -> Any:
    return pyo.quicksum(model.redundancy[d, e] * model.y[d, e] for d, e in model.pairs)
