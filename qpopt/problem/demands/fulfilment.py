"""Which rule of an instance a selection or an assignment breaks first; nothing where none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.problem.constraints import Average
from qpopt.problem.demands.views import Demanding
from qpopt.problem.validation import Assigned


def misfit(instance: Demanding, features: NDArray[np.int64]) -> str:
    """Say why distinct features are not a selection of the instance, or nothing."""
    if len(features) != instance.n_select:
        return f"it has {len(features)} features, n_select is {instance.n_select}"
    if missing := sorted(set(instance.included) - set(features.tolist())):
        return f"feature {missing[0]} must be included"
    if present := sorted(set(instance.excluded) & set(features.tolist())):
        return f"feature {present[0]} is excluded"
    return ""


def unmet(instance: Demanding, features: NDArray[np.int64], assignment: Assigned) -> str:
    """Say what an assignment of a selection of the instance breaks, or nothing.

    Parameters
    ----------
    instance
        The instance.
    features
        The selected features.
    assignment
        Classes × selected features, its columns in the order of `features`.
    """
    used = assignment != 0
    sizes = used.sum(axis=1)
    return (
        _wrong_number(instance, sizes)
        or _equal_classes(assignment)
        or _wrong_cells(instance, features, assignment)
        or _wrong_uses(instance, features, used)
        or _wrong_sharing(instance, used, sizes)
    )


def _wrong_number(instance: Demanding, sizes: NDArray[np.int64]) -> str:
    least, most, total = instance.budgets
    given = instance.budget
    if isinstance(given, Average):
        # Its least and most are stricter only where other demands say so themselves.
        least = np.full_like(least, given.least)
        most = np.full_like(most, given.most or instance.n_select)
    for c in np.flatnonzero((sizes < least) | (sizes > most))[:1].tolist():
        wanted = f"{least[c]}" if least[c] == most[c] else f"{least[c]} to {most[c]}"
        return f"class {c} has {sizes[c]} features instead of {wanted}"
    if sizes.sum() != total:
        return f"the classes have {sizes.sum()} features in all instead of {total}"
    return ""


def _equal_classes(assignment: Assigned) -> str:
    holders: dict[bytes, int] = {}
    for c, row in enumerate(assignment):
        other = holders.setdefault(row.tobytes(), c)
        if other != c:
            return f"classes {other} and {c} have the same features"
    return ""


def _wrong_cells(instance: Demanding, features: NDArray[np.int64], assignment: Assigned) -> str:
    used = assignment != 0
    for cells, wrong, what in (
        (instance.forbidden_cells, used, "has feature {}, which is forbidden to it"),
        (instance.required_cells, assignment != 1, "lacks feature {}, which is required of it"),
    ):
        for c, j in np.argwhere(cells[:, features] & wrong)[:1].tolist():
            return f"class {c} {what.format(features[j])}"
    negatives = (assignment.astype(np.int8) < 0).sum(axis=1)
    for c in np.flatnonzero(negatives > instance.most_negative)[:1].tolist():
        return f"class {c} has {negatives[c]} negatives; at most {instance.most_negative} may be"
    return ""


def _wrong_uses(instance: Demanding, features: NDArray[np.int64], used: NDArray[np.bool_]) -> str:
    if instance.classes_per_feature is None:
        return ""
    uses, (least, most) = used.sum(axis=0), instance.uses
    for j in np.flatnonzero((uses < least) | (uses > most))[:1].tolist():
        return f"feature {features[j]} serves {uses[j]} classes instead of {least} to {most}"
    return ""


def _wrong_sharing(instance: Demanding, used: NDArray[np.bool_], sizes: NDArray[np.int64]) -> str:
    if not (instance.pairs or instance.n_pairs or instance.max_shared is not None):
        return ""
    members = used.astype(np.int64)
    shared = members @ members.T
    for c, other in instance.pairs:
        if shared[c, other] != sizes[c] - 1:
            return (
                f"classes {c} and {other} share {shared[c, other]} features instead of "
                f"{sizes[c] - 1}"
            )
    first, second = np.triu_indices(len(used), 1)
    if instance.n_pairs:
        found = int((shared[first, second] == instance.n_per_class - 1).sum())
        if found < instance.n_pairs:
            return f"{found} pairs of classes differ in one feature instead of {instance.n_pairs}"
    if instance.max_shared is not None:
        over = shared > instance.max_shared
        if instance.pairs:
            over[tuple(np.array(instance.pairs).T)] = False
        for i in np.flatnonzero(over[first, second])[:1].tolist():
            c, other = first[i], second[i]
            return (
                f"classes {c} and {other} share {shared[c, other]} features; at most "
                f"{instance.max_shared} may be"
            )
    return ""
