"""How many features a class has, and how many classes a feature serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo

from qpopt.problem.constraints import Average
from qpopt.problem.instance import Instance

Assigned = Callable[[Any, Any, Any], Any]
"""Given model, class and feature: what tells that the class has the feature and it is selected."""


def declare_budgets(model: pyo.AbstractModel, instance: Instance, assigned: Assigned) -> None:
    """Declare how many features every class has."""

    def size(m: Any, c: Any) -> Any:
        return sum(assigned(m, c, d) for d in m.features)

    if isinstance(instance.budget, Average):
        model.least = pyo.Param()
        model.most = pyo.Param()
        model.total = pyo.Param()
        model.at_least = pyo.Constraint(model.classes, rule=lambda m, c: size(m, c) >= m.least)
        model.at_most = pyo.Constraint(model.classes, rule=lambda m, c: size(m, c) <= m.most)
        model.in_all = pyo.Constraint(
            rule=lambda m: sum(assigned(m, c, d) for c in m.classes for d in m.features) == m.total
        )
    elif instance.budget is not None:
        model.budget = pyo.Param(model.classes)
        model.per_class = pyo.Constraint(model.classes, rule=lambda m, c: size(m, c) == m.budget[c])
    else:
        model.per_class = pyo.Constraint(
            model.classes, rule=lambda m, c: size(m, c) == m.n_per_class
        )


def declare_uses(model: pyo.AbstractModel, instance: Instance, assigned: Assigned) -> None:
    """Declare how many classes a selected feature serves, where that is asked for."""
    if instance.classes_per_feature is None:
        return
    model.fewest = pyo.Param()
    model.largest = pyo.Param()
    model.serves = pyo.Constraint(
        model.features,
        rule=lambda m, d: sum(assigned(m, c, d) for c in m.classes) >= m.fewest * m.s[d],
    )
    model.serves_no_more = pyo.Constraint(
        model.features,
        rule=lambda m, d: sum(assigned(m, c, d) for c in m.classes) <= m.largest * m.s[d],
    )


def class_data(instance: Instance) -> dict[str, Any]:
    """Return the data of these parts."""
    data: dict[str, Any] = {}
    budget = instance.budget
    if isinstance(budget, Average):
        most = instance.n_select if budget.most is None else budget.most
        numbers = {"least": budget.least, "most": most, "total": instance.budgets.total}
        data |= {name: {None: value} for name, value in numbers.items()}
    elif budget is not None:
        data["budget"] = dict(enumerate(budget))
    if instance.classes_per_feature is not None:
        data["fewest"], data["largest"] = ({None: each} for each in instance.uses)
    return data
