"""Why an instance has no solution: a smallest set of its demands that cannot hold together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.errors import InfeasibleInstance, InvalidInstance, MissingSolver, SolverFailure
from qpopt.methods.compact import run_compact
from qpopt.problem.constraints import Average, Demands
from qpopt.problem.instance import Instance
from qpopt.solvers.registry import find_solver

SOLVER = "highs"
MOST_SECONDS = 10.0
"""How long the search for a smallest set may take; what is known then is a set, if not a smallest
one."""


class Wish(NamedTuple):
    """One demand, as an argument of an instance, and in words."""

    name: str
    value: Any
    words: str


def wishes_of(instance: Instance) -> list[Wish]:
    """Return the demands of an instance one by one, with the features it includes and excludes."""
    who, what = instance.class_label, instance.feature_name
    found = [Wish("include", d, f"feature {what(d)} must be selected") for d in instance.include]
    found += [
        Wish("exclude", d, f"feature {what(d)} must not be selected") for d in instance.exclude
    ]
    found += [
        Wish("required", (c, d), f"{who(c)} must use feature {what(d)}")
        for c, d in instance.required
    ]
    found += [
        Wish("forbidden", (c, d), f"{who(c)} must not use feature {what(d)}")
        for c, d in instance.forbidden
    ]
    found += [
        Wish("pairs", (c, e), f"{who(c)} and {who(e)} must differ in one feature")
        for c, e in instance.pairs
    ]
    least, most = instance.uses
    single = {
        "pairs": (instance.n_pairs or None, f"{instance.n_pairs} pairs differ in one feature"),
        "classes_per_feature": (
            instance.classes_per_feature,
            f"every selected feature must serve {least} to {most} classes",
        ),
        "max_shared": (
            instance.max_shared,
            f"two classes may share at most {instance.max_shared} features",
        ),
        "budget": (instance.budget, _budget(instance.demands)),
    }
    found += [Wish(name, value, words) for name, (value, words) in single.items() if value]
    if instance.max_shared == 0:
        found.append(Wish("max_shared", 0, "no two classes may share a feature"))
    return found


def conflict(instance: Instance, seconds: float = MOST_SECONDS) -> tuple[str, ...]:
    """Return in words a smallest set of demands that leaves no solution.

    Demands are left out in halves, quarters and so on, and at last one by one, and stay out where
    the others still leave no solution: so none of those that are returned can be spared.

    Parameters
    ----------
    instance
        An instance without a solution.
    seconds
        How long to try; what is left then may not be smallest.
    """
    end = perf_counter() + seconds

    def fails(kept: Sequence[Wish]) -> bool:
        return perf_counter() < end and _has_none(instance, kept, end - perf_counter())

    return tuple(wish.words for wish in smallest(wishes_of(instance), fails))


def smallest(wishes: Sequence[Wish], fails: Callable[[Sequence[Wish]], bool]) -> list[Wish]:
    """Return some of the wishes that fail together, of which none can be spared."""
    kept = list(wishes)
    size = max(len(kept) // 2, 1)
    while True:
        first = 0
        while first < len(kept):
            without = kept[:first] + kept[first + size :]
            if fails(without):
                kept = without
            else:
                first += size
        if size == 1:
            return kept
        size = max(size // 2, 1)


def _has_none(instance: Instance, kept: Sequence[Wish], seconds: float) -> bool:
    """Tell whether an instance with only these wishes is known to have no solution."""
    listed: dict[str, Any] = {name: [] for name in ("include", "exclude", "required", "forbidden")}
    for wish in kept:
        if wish.name in listed or (isinstance(wish.value, tuple) and wish.name == "pairs"):
            listed.setdefault(wish.name, []).append(wish.value)
        else:
            listed[wish.name] = wish.value
    if "budget" not in listed and listed.get("max_shared", 0) >= instance.n_per_class:
        del listed["max_shared"]  # where all sets have one size, as many are never shared anyhow
    n_features = instance.n_features
    try:
        bare = Instance(
            np.zeros(instance.A.shape),
            sparse.csr_array((n_features, n_features)),
            np.zeros(n_features),
            instance.n_select,
            instance.n_per_class,
            negative=instance.negative,
            **listed,
        )
    except InfeasibleInstance:
        return True
    except InvalidInstance:  # what is left out is what gives the others a sense
        return False
    if not bare.demands:
        return False
    incumbent = Incumbent(bare, Limits(time_limit=seconds, gap=1.0, threads=1))
    try:
        run_compact(incumbent, find_solver(SOLVER), quadratic=False)
    except (MissingSolver, SolverFailure):
        return False
    return incumbent.infeasible


def _budget(demands: Demands) -> str:
    if isinstance(demands.budget, Average):
        most = "" if demands.budget.most is None else f" to {demands.budget.most}"
        return f"classes have {demands.budget.least}{most} features, and so many on average"
    return "classes have the numbers of features that budget gives"
