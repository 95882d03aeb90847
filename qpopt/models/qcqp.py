"""The quadratic form of the problem, as it is defined: the reference for the other formulations.

Similarity and the counts per class are products w·s. Two classes differ when Σ_d w_cd w_c'd is
below n_per_class; features that are not selected may count there too, because w can be 0 for them
without changing anything else, so no optimum is lost and the constraint stays quadratic.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.parts import build, declare, selected_bias
from qpopt.problem.instance import Instance


def build_qcqp(instance: Instance) -> pyo.ConcreteModel:
    """Build the quadratic form of an instance."""
    model = pyo.AbstractModel("qcqp")
    declare(model, quadratic=True)
    model.class_pairs = pyo.Set(dimen=2)
    model.per_class = pyo.Constraint(model.classes, rule=_per_class)
    model.distinct = pyo.Constraint(model.class_pairs, rule=_distinct)
    model.objective = pyo.Objective(rule=_objective, sense=pyo.maximize)
    return build(model, instance, class_pairs=combinations(range(instance.n_classes), 2))


def compile_qcqp(instance: Instance) -> CompiledModel:
    """Build and compile; see `build_qcqp`."""
    return compile_model(build_qcqp(instance))


def qcqp_size(instance: Instance) -> Size:
    """Return the size of the model without building it."""
    variables = instance.n_features * (instance.n_classes + 1)
    return Size(variables, rows=1, quadratic_objective=True, quadratic_rows=True)


def _per_class(model: Any, c: int) -> Any:
    used = pyo.quicksum(model.w[c, d] * model.s[d] for d in model.features)
    return used == model.n_per_class


def _distinct(model: Any, c: int, other: int) -> Any:
    shared = pyo.quicksum(model.w[c, d] * model.w[other, d] for d in model.features)
    return shared <= model.n_per_class - 1


def _objective(model: Any) -> Any:
    similarity = pyo.quicksum(
        model.similarity[c, d] * model.w[c, d] * model.s[d]
        for c in model.classes
        for d in model.features
    )
    return similarity - model.charges + selected_bias(model)
