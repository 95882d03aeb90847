"""The compact form: w ≤ s takes the place of products, and uniqueness comes as cuts."""

from __future__ import annotations

from math import comb

import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.demands.assignment_rules import used
from qpopt.models.demands.class_rules import declare_budgets, declare_uses
from qpopt.models.demands.sharing_rules import declare_pairs, declare_stated
from qpopt.models.parts import build, declare, declare_linked, linked_sizes
from qpopt.models.templates import templates
from qpopt.problem.constraints import Average
from qpopt.problem.instance import Instance

COMPACT_TAKES = frozenset(
    {"forbidden", "required", "classes_per_feature", "pairs", "pairs=N", "max_shared", "budget"}
    | {"negative"}
)
"""The demands that it states: all of them."""


def build_compact(
    instance: Instance, *, quadratic: bool, distinct: bool = False
) -> pyo.ConcreteModel:
    """Build the compact form of an instance; `quadratic` keeps products of s in the objective.

    With `distinct` uniqueness, and what two classes may share, is stated for every pair of classes
    instead of being left to cuts.
    """
    model = pyo.AbstractModel("compact")
    declare(model, instance, quadratic=quadratic)
    declare_linked(model)
    declare_budgets(model, instance, used)
    declare_uses(model, instance, used)
    declare_pairs(model, instance)
    if distinct:
        declare_stated(model, instance)
    return build(model, instance)


def compile_compact(
    instance: Instance, *, quadratic: bool, distinct: bool = False
) -> CompiledModel:
    """Build and compile; see `build_compact`."""
    with templates():
        model = build_compact(instance, quadratic=quadratic, distinct=distinct)
    return compile_model(model, implied=("y", "p", "p_absent", "u"))


def compact_sizes(instance: Instance) -> list[Size]:
    """Return the sizes of both forms, without stated uniqueness; see `linked_sizes`."""
    rows, variables = instance.n_classes, 0
    if isinstance(instance.budget, Average):
        rows += instance.n_classes + 1
    if instance.classes_per_feature is not None:
        rows += 2 * instance.n_features
    if instance.negative is not None:
        rows += instance.n_classes
        variables += instance.n_classes * instance.n_features
    joined = len(instance.pairs) or comb(instance.n_classes, 2) * bool(instance.n_pairs)
    rows += joined * (instance.n_features + 1) + bool(instance.n_pairs)
    variables += joined * (instance.n_features + bool(instance.n_pairs))
    return linked_sizes(instance, variables, rows)
