"""The compact form: w ≤ s takes the place of products, and uniqueness comes as cuts.

A set T of features that the classes c and c' both have is forbidden to them by
Σ_{d∈T} (w_cd + w_c'd) ≤ 2·n_per_class − 1, which is exact for whole w.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse

from qpopt.instance import Instance
from qpopt.models.compile import compile_model
from qpopt.models.compiled import Block, CompiledModel, Rows, Size
from qpopt.models.data import (
    assigned_similarity,
    data_of,
    declare,
    declare_charges,
    only_selected,
    selected_bias,
)


def compact_model(*, quadratic: bool) -> pyo.AbstractModel:
    """Return the abstract model; `quadratic` keeps the products of s in the objective."""
    model = pyo.AbstractModel("compact")
    declare(model)
    declare_charges(model, quadratic=quadratic)
    model.linked = pyo.Constraint(model.classes, model.features, rule=only_selected)
    model.per_class = pyo.Constraint(model.classes, rule=_per_class)
    model.objective = pyo.Objective(rule=_objective, sense=pyo.maximize)
    return model


def compile_compact(instance: Instance, *, quadratic: bool) -> CompiledModel:
    """Build and compile the compact form of an instance, without any uniqueness cut."""
    model = compact_model(quadratic=quadratic).create_instance(data_of(instance))
    return compile_model(model, implied=("y",))


def compact_size(instance: Instance, *, quadratic: bool) -> Size:
    """Return the size of the model without building it."""
    pairs = np.count_nonzero(instance.R) // 2
    linked = instance.n_classes * instance.n_features
    variables = instance.n_features + linked
    rows = 1 + linked + instance.n_classes
    if quadratic:
        return Size(variables, rows, quadratic_objective=pairs > 0)
    return Size(variables + pairs, rows + pairs)


def duplicate_cuts(
    assignment: NDArray[np.bool_], n_per_class: int, w: Block, n_variables: int
) -> Rows | None:
    """Return the cuts that forbid every set which two or more classes share, or None.

    A set shared by a group is forbidden for every member of the group together with any other
    class, not only within the group: the solver would otherwise hand it from pair to pair, one
    round for each.

    Parameters
    ----------
    assignment
        Boolean classes × features.
    n_per_class
        The number of features that every class has.
    w
        Where w lies among the variables.
    n_variables
        The number of variables of the model.
    """
    _, group, sizes = np.unique(assignment, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    n_classes, n_features = assignment.shape
    indices: list[NDArray[np.int64]] = []
    for shared in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(group == shared)
        features = np.flatnonzero(assignment[members[0]])
        inside = np.zeros(n_classes, dtype=bool)
        inside[members] = True
        for c in members:
            for other in range(n_classes):
                if not inside[other] or c < other:
                    row = np.concatenate([c * n_features + features, other * n_features + features])
                    indices.append(w.start + row)
    if not indices:
        return None
    n_cuts = len(indices)
    matrix = sparse.csr_array(
        (
            np.ones(n_cuts * 2 * n_per_class),
            np.concatenate(indices),
            np.arange(n_cuts + 1) * 2 * n_per_class,
        ),
        shape=(n_cuts, n_variables),
    )
    return Rows(matrix, np.full(n_cuts, -np.inf), np.full(n_cuts, 2.0 * n_per_class - 1))


def _per_class(model: Any, c: int) -> Any:
    return pyo.quicksum(model.w[c, d] for d in model.features) == model.n_per_class


def _objective(model: Any) -> Any:
    return assigned_similarity(model) - model.charges + selected_bias(model)
