"""The relaxed model of the published scheme, tightened from round to round.

Only the sum over all classes is prescribed at first. Classes that were ever short must find
n_per_class features within Γ, the features ever selected; classes that were ever equal must differ
within Γ. As w ≤ s, every product w·s is w itself, and the product w_cd w_c'd is a variable of its
own, so any solver can take the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.parts import (
    assigned_similarity,
    data_of,
    declare,
    declare_charges,
    declare_overlaps,
    only_selected,
    selected_bias,
)
from qpopt.problem.instance import Instance


@dataclass(frozen=True)
class Tightening:
    """What the rounds so far have taught: features, classes and pairs of classes, all sorted.

    Parameters
    ----------
    features
        Γ, every feature that was ever selected.
    short
        Classes that ever had fewer than n_per_class features.
    equal
        Pairs c < c' of classes that ever had the same features.
    """

    features: tuple[int, ...] = ()
    short: tuple[int, ...] = ()
    equal: tuple[tuple[int, int], ...] = ()


def paper_model(*, quadratic: bool) -> pyo.AbstractModel:
    """Return the abstract model; `quadratic` keeps the products of s in the objective."""
    model = pyo.AbstractModel("paper")
    declare(model)
    declare_charges(model, quadratic=quadratic)
    declare_overlaps(model)
    model.short = pyo.Set(within=model.classes)
    model.linked = pyo.Constraint(model.classes, model.features, rule=only_selected)
    model.in_all = pyo.Constraint(rule=_in_all)
    model.enough = pyo.Constraint(model.short, rule=_enough)
    model.objective = pyo.Objective(rule=_objective, sense=pyo.maximize)
    return model


def compile_paper(instance: Instance, tightening: Tightening, *, quadratic: bool) -> CompiledModel:
    """Build and compile the relaxed model of one round."""
    data = {
        None: {
            **data_of(instance)[None],
            "gamma": {None: list(tightening.features)},
            "short": {None: list(tightening.short)},
            "equal": {None: list(tightening.equal)},
        }
    }
    model = paper_model(quadratic=quadratic).create_instance(data)
    return compile_model(model, implied=("y", "p"))


def paper_size(instance: Instance, tightening: Tightening, *, quadratic: bool) -> Size:
    """Return the size of the model without building it."""
    pairs = np.count_nonzero(instance.R) // 2
    linked = instance.n_classes * instance.n_features
    overlaps = len(tightening.equal) * len(tightening.features)
    variables = instance.n_features + linked + overlaps
    rows = 2 + linked + len(tightening.short) + overlaps + len(tightening.equal)
    if quadratic:
        return Size(variables, rows, quadratic_objective=pairs > 0)
    return Size(variables + pairs, rows + pairs)


def _in_all(model: Any) -> Any:
    used = pyo.quicksum(model.w[c, d] for c in model.classes for d in model.features)
    return used == model.n_per_class * len(model.classes)


def _enough(model: Any, c: int) -> Any:
    return pyo.quicksum(model.w[c, d] for d in model.gamma) >= model.n_per_class


def _objective(model: Any) -> Any:
    return assigned_similarity(model) - model.charges + selected_bias(model)
