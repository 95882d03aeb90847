"""The quadratic form of the problem, as it is defined: the reference for the other formulations.

Similarity and the counts per class are products w·s. Two classes differ when Σ_d w_cd w_c'd is
below n_per_class; features that are not selected may count there too, because w can be 0 for them
without changing anything else, so no optimum is lost and the constraint stays quadratic.
"""

from __future__ import annotations

from itertools import combinations

import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.parts import build, declare, declare_objective
from qpopt.models.templates import templates
from qpopt.problem.instance import Instance


def build_qcqp(instance: Instance) -> pyo.ConcreteModel:
    """Build the quadratic form of an instance."""
    model = pyo.AbstractModel("qcqp")
    declare(model, quadratic=True)
    model.class_pairs = pyo.Set(dimen=2)
    model.per_class = pyo.Constraint(
        model.classes,
        rule=lambda m, c: sum(m.w[c, d] * m.s[d] for d in m.features) == m.n_per_class,
    )
    model.distinct = pyo.Constraint(
        model.class_pairs,
        rule=lambda m, c, other: (
            sum(m.w[c, d] * m.w[other, d] for d in m.features) <= m.n_per_class - 1
        ),
    )
    declare_objective(model, lambda m, c, d: m.w[c, d] * m.s[d])
    return build(model, instance, class_pairs=combinations(range(instance.n_classes), 2))


def compile_qcqp(instance: Instance) -> CompiledModel:
    """Build and compile; see `build_qcqp`."""
    with templates():
        model = build_qcqp(instance)
    return compile_model(model)


def qcqp_sizes(instance: Instance) -> list[Size]:
    """Return the size of the only form without building it."""
    variables = instance.n_features * (instance.n_classes + 1)
    return [Size(variables, rows=1, quadratic_objective=True, quadratic_rows=True)]
