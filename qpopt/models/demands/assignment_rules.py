"""Forbidden, required and negative assignments: bounds of w, and v for what counts by absence."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from qpopt.problem.instance import Instance


def declare_assignments(model: pyo.AbstractModel, instance: Instance) -> None:
    """Declare w, and v beside it where features may count by their absence."""
    stated = bool(instance.forbidden or instance.required)
    if stated:
        model.forbidden = pyo.Set(dimen=2)
        model.required = pyo.Set(dimen=2)
    bounds = _present if stated else None
    model.w = pyo.Var(model.classes, model.features, domain=pyo.Binary, bounds=bounds)
    if instance.negative is None:
        return
    bounds = _absent if stated else None
    model.v = pyo.Var(model.classes, model.features, domain=pyo.Binary, bounds=bounds)
    model.most_negative = pyo.Param()
    model.gamma_of_absence = pyo.Param()
    model.negatives = pyo.Constraint(
        model.classes, rule=lambda m, c: sum(m.v[c, d] for d in m.features) <= m.most_negative
    )


def _present(m: Any, c: Any, d: Any) -> tuple[int, int]:
    return int((c, d) in m.required), int((c, d) not in m.forbidden)


def _absent(m: Any, c: Any, d: Any) -> tuple[int, int]:
    return 0, int((c, d) not in m.forbidden and (c, d) not in m.required)


def used(m: Any, c: Any, d: Any) -> Any:
    """Return what tells that a class has a feature, with either sign."""
    return m.w[c, d] + m.v[c, d] if hasattr(m, "v") else m.w[c, d]


def absence(m: Any) -> Any:
    """Return what features that count by their absence add to Z; 0 where none may."""
    if not hasattr(m, "v"):
        return 0.0
    return -sum(
        m.gamma_of_absence * m.similarity[c, d] * m.v[c, d] for c in m.classes for d in m.features
    )


def assignment_data(instance: Instance) -> dict[str, Any]:
    """Return the data of these parts."""
    data: dict[str, Any] = {}
    if instance.forbidden or instance.required:
        data["forbidden"] = {None: list(instance.forbidden)}
        data["required"] = {None: list(instance.required)}
    if instance.negative is not None:
        data["most_negative"] = {None: instance.most_negative}
        data["gamma_of_absence"] = {None: instance.gamma}
    return data
