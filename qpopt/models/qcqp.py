"""The quadratic form of the problem, as it is defined: the reference for the other formulations.

Similarity and the counts per class are products w·s. Two classes differ when Σ_d w_cd w_c'd is
the number that both have; features that are not selected may count there too, because w can be 0
for them without changing anything else, so no optimum is lost and the constraint stays quadratic.
Where numbers vary, two classes differ when together they have more than twice what they share.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.demands.class_rules import declare_budgets, declare_uses
from qpopt.models.demands.sharing_rules import declare_pairs
from qpopt.models.parts import build, declare, declare_objective
from qpopt.models.templates import templates
from qpopt.problem.constraints import Average
from qpopt.problem.instance import Instance

QCQP_TAKES = frozenset({"forbidden", "required", "classes_per_feature", "pairs", "budget"})
"""The demands that it states."""


def build_qcqp(instance: Instance) -> pyo.ConcreteModel:
    """Build the quadratic form of an instance."""
    model = pyo.AbstractModel("qcqp")
    declare(model, instance, quadratic=True)

    def assigned(m: Any, c: Any, d: Any) -> Any:
        return m.w[c, d] * m.s[d]

    declare_budgets(model, instance, assigned)
    declare_uses(model, instance, assigned)
    declare_pairs(model, instance)
    model.class_pairs = pyo.Set(dimen=2)
    model.distinct = pyo.Constraint(
        model.class_pairs, rule=_vary if isinstance(instance.budget, Average) else _differ
    )
    declare_objective(model, assigned)
    sizes = instance.budgets.least.tolist()
    vary = isinstance(instance.budget, Average)
    everyone = combinations(range(instance.n_classes), 2)
    pairs = [(c, other) for c, other in everyone if vary or sizes[c] == sizes[other]]
    return build(model, instance, class_pairs=pairs)


def _differ(m: Any, c: Any, other: Any) -> Any:
    """Two classes of one size share less than all."""
    size = m.budget[c] if hasattr(m, "budget") else m.n_per_class
    return sum(m.w[c, d] * m.w[other, d] for d in m.features) <= size - 1


def _vary(m: Any, c: Any, other: Any) -> Any:
    """Two classes of any size share less than all that both have."""
    return (
        sum(m.w[c, d] * m.s[d] + m.w[other, d] * m.s[d] for d in m.features)
        - sum(2 * m.w[c, d] * m.w[other, d] for d in m.features)
        >= 1
    )


def compile_qcqp(instance: Instance) -> CompiledModel:
    """Build and compile; see `build_qcqp`."""
    with templates():
        model = build_qcqp(instance)
    return compile_model(model)


def qcqp_sizes(instance: Instance) -> list[Size]:
    """Return the size of the only form without building it."""
    variables = instance.n_features * (instance.n_classes + 1 + len(instance.pairs))
    rows = 1 + len(instance.pairs) * (instance.n_features + 1)
    return [Size(variables, rows, quadratic_objective=True, quadratic_rows=True)]
