"""The compact form: w ≤ s takes the place of products, and uniqueness comes as cuts."""

from __future__ import annotations

from itertools import combinations

import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.parts import build, declare, declare_linked, declare_overlaps, linked_sizes
from qpopt.models.templates import templates
from qpopt.problem.instance import Instance


def build_compact(
    instance: Instance, *, quadratic: bool, distinct: bool = False
) -> pyo.ConcreteModel:
    """Build the compact form of an instance; `quadratic` keeps products of s in the objective.

    With `distinct` uniqueness is stated for every pair of classes instead of being left to cuts.
    """
    model = pyo.AbstractModel("compact")
    declare(model, quadratic=quadratic)
    declare_linked(model)
    model.per_class = pyo.Constraint(
        model.classes,
        rule=lambda m, c: sum(m.w[c, d] for d in m.features) == m.n_per_class,
    )
    if not distinct:
        return build(model, instance)
    declare_overlaps(model)
    pairs = combinations(range(instance.n_classes), 2)
    return build(model, instance, gamma=range(instance.n_features), equal=pairs)


def compile_compact(
    instance: Instance, *, quadratic: bool, distinct: bool = False
) -> CompiledModel:
    """Build and compile; see `build_compact`."""
    with templates():
        model = build_compact(instance, quadratic=quadratic, distinct=distinct)
    return compile_model(model, implied=("y", "p"))


def compact_sizes(instance: Instance) -> list[Size]:
    """Return the sizes of both forms, without stated uniqueness; see `linked_sizes`."""
    return linked_sizes(instance, rows=instance.n_classes)
