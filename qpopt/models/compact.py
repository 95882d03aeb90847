"""The compact form: w ≤ s takes the place of products, and uniqueness comes as cuts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.parts import build, declare, declare_linked, declare_overlaps, linked_size
from qpopt.problem.instance import Instance


def build_compact(
    instance: Instance, *, quadratic: bool, distinct: bool = False
) -> pyo.ConcreteModel:
    """Build the compact form of an instance.

    Parameters
    ----------
    instance
        The instance.
    quadratic
        Whether to keep the products of s in the objective.
    distinct
        Whether to state uniqueness for every pair of classes instead of leaving it to cuts.
    """
    model = pyo.AbstractModel("compact")
    declare(model, quadratic=quadratic)
    declare_linked(model)
    model.per_class = pyo.Constraint(model.classes, rule=_per_class)
    if not distinct:
        return build(model, instance)
    declare_overlaps(model)
    pairs = combinations(range(instance.n_classes), 2)
    return build(model, instance, gamma=range(instance.n_features), equal=pairs)


def compile_compact(
    instance: Instance, *, quadratic: bool, distinct: bool = False
) -> CompiledModel:
    """Build and compile; see `build_compact`."""
    model = build_compact(instance, quadratic=quadratic, distinct=distinct)
    return compile_model(model, implied=("y", "p"))


def compact_size(instance: Instance, *, quadratic: bool) -> Size:
    """Return the size of the model, without stated uniqueness, without building it."""
    return linked_size(instance, quadratic=quadratic, rows=instance.n_classes)


def _per_class(model: Any, c: int) -> Any:
    return pyo.quicksum(model.w[c, d] for d in model.features) == model.n_per_class
