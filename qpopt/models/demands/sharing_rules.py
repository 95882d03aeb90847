"""What two classes share: pairs that differ in one feature, and how much others may share at most.

u_d ≥ w_cd − w_c'd counts the features that c has and c' has not; with Σ_d u_d ≤ 1 two classes of
one size share all but one at least, and that no two are the same makes it exact.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyomo.environ as pyo

from qpopt.problem.constraints import Average
from qpopt.problem.instance import Instance


def declare_pairs(model: pyo.AbstractModel, instance: Instance) -> None:
    """Declare the pairs that are asked for, one by one or by their number."""
    if not (instance.pairs or instance.n_pairs):
        return
    model.joined = pyo.Set(dimen=2)
    model.u = pyo.Var(model.joined, model.features, bounds=(0, 1))
    model.apart = pyo.Constraint(
        model.joined,
        model.features,
        rule=lambda m, c, other, d: m.u[c, other, d] >= m.w[c, d] - m.w[other, d],
    )
    if instance.pairs:
        model.close = pyo.Constraint(
            model.joined, rule=lambda m, c, other: sum(m.u[c, other, d] for d in m.features) <= 1
        )
        return
    model.n_pairs = pyo.Param()
    model.e = pyo.Var(model.joined, domain=pyo.Binary)
    model.close = pyo.Constraint(
        model.joined,
        rule=lambda m, c, other: (
            sum(m.u[c, other, d] for d in m.features) + (m.n_per_class - 1) * m.e[c, other]
            <= m.n_per_class
        ),
    )
    model.enough_pairs = pyo.Constraint(
        rule=lambda m: sum(m.e[c, other] for c, other in m.joined) >= m.n_pairs
    )


def declare_common(model: pyo.AbstractModel, instance: Instance) -> None:
    """Declare that the two classes of every pair share n_per_class − 1 features at least.

    Here classes may be of any size. The product w_cd w_c'd is a variable z of its own, pushed down
    by z ≤ w_cd and z ≤ w_c'd.
    """
    if not instance.pairs:
        return
    model.joined = pyo.Set(dimen=2)
    model.z = pyo.Var(model.joined, model.features, bounds=(0, 1))
    model.in_first = pyo.Constraint(
        model.joined, model.features, rule=lambda m, c, other, d: m.z[c, other, d] <= m.w[c, d]
    )
    model.in_second = pyo.Constraint(
        model.joined, model.features, rule=lambda m, c, other, d: m.z[c, other, d] <= m.w[other, d]
    )
    model.close = pyo.Constraint(
        model.joined,
        rule=lambda m, c, other: sum(m.z[c, other, d] for d in m.features) >= m.n_per_class - 1,
    )


def declare_stated(model: pyo.AbstractModel, instance: Instance) -> None:
    """State for all classes that no two are the same, and what they may share at the most.

    The product w_cd w_c'd is a variable p of its own, pushed up by p ≥ w_cd + w_c'd − 1; so is that
    of v, p_absent.
    """
    model.all_pairs = pyo.Set(dimen=2)
    model.p = pyo.Var(model.all_pairs, model.features, bounds=(0, 1))
    model.both = pyo.Constraint(
        model.all_pairs,
        model.features,
        rule=lambda m, c, other, d: m.p[c, other, d] >= m.w[c, d] + m.w[other, d] - 1,
    )
    if instance.negative is not None:
        model.p_absent = pyo.Var(model.all_pairs, model.features, bounds=(0, 1))
        model.both_absent = pyo.Constraint(
            model.all_pairs,
            model.features,
            rule=lambda m, c, other, d: m.p_absent[c, other, d] >= m.v[c, d] + m.v[other, d] - 1,
        )

    def shared(m: Any, c: Any, other: Any) -> Any:
        total = sum(m.p[c, other, d] for d in m.features)
        if hasattr(m, "p_absent"):
            total += sum(m.p_absent[c, other, d] for d in m.features)
        return total

    model.cap = pyo.Param(model.all_pairs)
    model.distinct = pyo.Constraint(
        model.all_pairs, rule=lambda m, c, other: shared(m, c, other) <= m.cap[c, other]
    )
    if not isinstance(instance.budget, Average):
        return

    def sizes(m: Any, c: Any, other: Any) -> Any:
        total = sum(m.w[c, d] + m.w[other, d] for d in m.features)
        if hasattr(m, "v"):
            total += sum(m.v[c, d] + m.v[other, d] for d in m.features)
        return total

    model.unlike = pyo.Constraint(
        model.all_pairs,
        rule=lambda m, c, other: 2 * shared(m, c, other) <= sizes(m, c, other) - 1,
    )


def caps(instance: Instance) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return how many features two classes may share at the most, classes × classes.

    Where sizes vary it is the smaller largest size: that no two are the same takes more there.
    """
    sizes = instance.budgets.most
    most = np.minimum.outer(sizes, sizes)
    if instance.budgets.fixed:
        most = most - (sizes[:, None] == sizes)
    if instance.max_shared is not None:
        least = np.minimum(most, instance.max_shared)
        for c, other in instance.pairs:
            least[c, other] = least[other, c] = most[c, other]
        most = least
    return most


def pair_data(instance: Instance) -> dict[str, Any]:
    """Return the data of `declare_pairs`."""
    if instance.pairs:
        return {"joined": {None: list(instance.pairs)}}
    if instance.n_pairs:
        everyone = list(combinations(range(instance.n_classes), 2))
        return {"joined": {None: everyone}, "n_pairs": {None: instance.n_pairs}}
    return {}


def stated_data(instance: Instance) -> dict[str, Any]:
    """Return the data of `declare_stated`."""
    everyone = list(combinations(range(instance.n_classes), 2))
    most = caps(instance)
    return {
        "all_pairs": {None: everyone},
        "cap": {(c, other): int(most[c, other]) for c, other in everyone},
    }
