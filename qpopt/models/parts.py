"""The parts that all formulations share: the data of an instance and the selected features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyomo.environ as pyo

from qpopt.problem.instance import Instance


def declare(model: pyo.AbstractModel) -> None:
    """Declare the sets and parameters of an instance, and the variables s and w."""
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


def declare_charges(model: pyo.AbstractModel, *, quadratic: bool) -> None:
    """Declare how redundant pairs are charged.

    Either as products of s, or through y_dd' ≥ s_d + s_d' − 1: redundancy is never negative, so y
    takes the value of the product by itself.
    """
    if quadratic:
        model.charges = pyo.Expression(rule=_charged_products)
    else:
        model.y = pyo.Var(model.pairs, bounds=(0, 1))
        model.charged = pyo.Constraint(model.pairs, rule=_charged)
        model.charges = pyo.Expression(rule=_charged_pairs)


def declare_overlaps(model: pyo.AbstractModel) -> None:
    """Declare that the pairs of classes in `equal` must differ within the features `gamma`.

    The product w_cd w_c'd is a variable p of its own, pushed up by p ≥ w_cd + w_c'd − 1.
    """
    model.gamma = pyo.Set(within=model.features)
    model.equal = pyo.Set(dimen=2)
    model.p = pyo.Var(model.equal, model.gamma, bounds=(0, 1))
    model.both = pyo.Constraint(model.equal, model.gamma, rule=_both)
    model.distinct = pyo.Constraint(model.equal, rule=_distinct)


def data_of(instance: Instance) -> Mapping[None, Mapping[str, Any]]:
    """Return the data of an instance as `create_instance` wants it."""
    pairs, redundancies = instance.redundant_pairs()
    keys = [(int(d), int(e)) for d, e in pairs]
    return {
        None: {
            "classes": {None: range(instance.n_classes)},
            "features": {None: range(instance.n_features)},
            "n_select": {None: instance.n_select},
            "n_per_class": {None: instance.n_per_class},
            "pairs": {None: keys},
            "included": {None: list(instance.include)},
            "excluded": {None: list(instance.exclude)},
            "similarity": {
                (c, d): value
                for c, row in enumerate(instance.A.tolist())
                for d, value in enumerate(row)
            },
            "redundancy": dict(zip(keys, redundancies.tolist(), strict=True)),
            "bias": dict(enumerate(instance.b.tolist())),
        }
    }


def assigned_similarity(model: Any) -> Any:
    """Return Σ a_cd w_cd, the similarity where w is 0 for every feature that is not selected."""
    return pyo.quicksum(
        model.similarity[c, d] * model.w[c, d] for c in model.classes for d in model.features
    )


def selected_bias(model: Any) -> Any:
    """Return Σ b_d s_d."""
    return pyo.quicksum(model.bias[d] * model.s[d] for d in model.features)


def only_selected(model: Any, c: int, d: int) -> Any:
    """State that a class may use a feature only if it is selected."""
    return model.w[c, d] <= model.s[d]


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
