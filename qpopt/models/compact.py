"""The compact form: w ≤ s takes the place of products, and uniqueness comes as cuts.

A set T of features that the classes c and c' both have is forbidden to them by
Σ_{d∈T} (w_cd + w_c'd) ≤ 2·n_per_class − 1, which is exact for whole w.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse

from qpopt.models.compiled import Block, CompiledModel, Rows, Size
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


def compact_model(*, quadratic: bool, distinct: bool = False) -> pyo.AbstractModel:
    """Return the abstract model.

    Parameters
    ----------
    quadratic
        Whether to keep the products of s in the objective.
    distinct
        Whether to state uniqueness for every pair of classes instead of leaving it to cuts.
    """
    model = pyo.AbstractModel("compact")
    declare(model)
    declare_charges(model, quadratic=quadratic)
    model.linked = pyo.Constraint(model.classes, model.features, rule=only_selected)
    model.per_class = pyo.Constraint(model.classes, rule=_per_class)
    if distinct:
        declare_overlaps(model)
    model.objective = pyo.Objective(rule=_objective, sense=pyo.maximize)
    return model


def compile_compact(
    instance: Instance, *, quadratic: bool, distinct: bool = False
) -> CompiledModel:
    """Build and compile the compact form of an instance; see `compact_model`."""
    data = {
        None: {
            **data_of(instance)[None],
            "gamma": {None: range(instance.n_features)},
            "equal": {None: list(combinations(range(instance.n_classes), 2))},
        }
    }
    model = compact_model(quadratic=quadratic, distinct=distinct).create_instance(data)
    return compile_model(model, implied=("y", "p"))


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
    assignment: NDArray[np.bool_],
    n_per_class: int,
    w: Block,
    n_variables: int,
    *,
    ahead: bool = False,
) -> Rows | None:
    """Return the cuts that forbid every set which two or more classes share, or None.

    For every pair of classes that share a set it is the exact cut of this module. For more than
    two classes G at once, Σ_{c∈G} Σ_{d∈T} w_cd ≤ |G|·(n_per_class − 1) + 1 comes on top: it follows
    from whole w but not from the pairs.

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
    ahead
        Also forbid a shared set to each class that has it together with each that does not. It
        saves rounds in which the set is handed from pair to pair, for many more cuts.
    """
    n_classes, n_features = assignment.shape
    columns: list[NDArray[np.int64]] = []
    upper: list[int] = []
    for members in equal_classes(assignment):
        features = np.flatnonzero(assignment[members[0]])
        groups: list[tuple[int, ...]] = [*combinations(members, 2)]
        if len(members) > 2:
            groups.append(tuple(members))
        if ahead:
            others = sorted(set(range(n_classes)) - set(members))
            groups += product(members, others)
        for group in groups:
            columns.append(np.concatenate([w.start + c * n_features + features for c in group]))
            upper.append(len(group) * (n_per_class - 1) + 1)
    if not columns:
        return None
    ends = np.cumsum([0, *(len(row) for row in columns)])
    matrix = sparse.csr_array(
        (np.ones(ends[-1]), np.concatenate(columns), ends), shape=(len(columns), n_variables)
    )
    return Rows(matrix, np.full(len(columns), -np.inf), np.array(upper, dtype=np.float64))


def equal_classes(assignment: NDArray[np.bool_]) -> list[list[int]]:
    """Return the groups of two or more classes that have the same features."""
    holders: dict[bytes, list[int]] = {}
    for c, row in enumerate(assignment):
        holders.setdefault(row.tobytes(), []).append(c)
    return [classes for classes in holders.values() if len(classes) > 1]


def _per_class(model: Any, c: int) -> Any:
    return pyo.quicksum(model.w[c, d] for d in model.features) == model.n_per_class


def _objective(model: Any) -> Any:
    return assigned_similarity(model) - model.charges + selected_bias(model)
