"""What counting says of demands: whether there can be no solution, with both numbers.

All of it is necessary, not sufficient: to decide it fully is as hard as the problem itself.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np

from qpopt.errors import InfeasibleInstance
from qpopt.problem.constraints import Average
from qpopt.problem.demands.sharing import check_max_shared, check_pairs
from qpopt.problem.demands.views import Demanding


def check_demands(given: Demanding) -> None:
    """Raise where counting shows that the demands cannot be met.

    Raises
    ------
    InfeasibleInstance
        Naming the class or the feature, with both numbers.
    """
    _check_features(given)
    _check_classes(given)
    _check_selection(given)
    _check_uses(given)
    _check_sets(given)
    _check_required_sets(given)
    check_pairs(given)
    check_max_shared(given)


def _check_features(given: Demanding) -> None:
    """Features that must be selected, and those that cannot be."""
    if both := sorted(set(given.forbidden) & set(given.required)):
        c, d = both[0]
        raise InfeasibleInstance(
            f"Feature {d} is both required of {given.class_label(c)} and forbidden to it."
        )
    excluded = set(given.exclude)
    for c, d in given.required:
        if d in excluded:
            raise InfeasibleInstance(
                f"Feature {d} is required of {given.class_label(c)}, and it is in exclude."
            )
    if len(given.included) > given.n_select:
        raise InfeasibleInstance(
            f"include and required name {len(given.included)} features, but only n_select = "
            f"{given.n_select} are selected."
        )
    n_classes, n_features = given.A.shape
    few = sorted(set(given.excluded) - excluded)
    for d in few:
        if d in given.included:
            may = n_classes - sum(1 for _, e in given.forbidden if e == d)
            raise InfeasibleInstance(
                f"Feature {d} must be selected and serve at least {given.uses[0]} classes, but "
                f"only {may} may use it."
            )
    if n_features - len(given.excluded) < given.n_select:
        raise InfeasibleInstance(
            f"{len(few)} features may be used by fewer than {given.uses[0]} classes: "
            f"{n_features - len(given.excluded)} of {n_features} are left, but n_select is "
            f"{given.n_select}."
        )


def _check_classes(given: Demanding) -> None:
    """Compare what every class may and must have with its budget."""
    n_select, budgets = given.n_select, given.budgets
    required = given.required_cells.sum(axis=1).tolist()
    available = given.free_cells.sum(axis=1).tolist()
    included = list(given.included)
    kept_out = given.forbidden_cells[:, included].sum(axis=1).tolist()
    most_of_all = given.budget.most if isinstance(given.budget, Average) else None
    for c, (least, most) in enumerate(zip(*map(list, budgets[:2]), strict=True)):
        who = given.class_label(c)
        allowed = most if budgets.fixed else most_of_all or n_select
        if required[c] > allowed:
            raise InfeasibleInstance(
                f"{required[c]} features are required of {who}, which has at most {allowed}."
            )
        if required[c] + available[c] < least:
            raise InfeasibleInstance(
                f"What is neither excluded nor forbidden leaves {who} "
                f"{required[c] + available[c]} features; it needs {least}."
            )
        if kept_out[c] > n_select - least:
            raise InfeasibleInstance(
                f"{kept_out[c]} features that must be selected are forbidden to {who}: "
                f"{n_select - kept_out[c]} of n_select = {n_select} are left, it needs {least}."
            )
    if not int(budgets.least.sum()) <= budgets.total <= int(budgets.most.sum()):
        raise InfeasibleInstance(
            f"The classes can have {int(budgets.least.sum())} to {int(budgets.most.sum())} "
            f"features in all; budget asks for {budgets.total}."
        )


def _check_selection(given: Demanding) -> None:
    """Every selection holds at most K − l_c features that are forbidden to class c."""
    if not given.forbidden:
        return
    barred = given.forbidden_cells.sum(axis=0)
    included = list(given.included)
    others = np.delete(barred, [*included, *given.excluded])
    rest = given.n_select - len(included)
    least = int(barred[included].sum() + np.sort(others)[:rest].sum())
    most = int((given.n_select - given.budgets.least).sum())
    if least > most:
        raise InfeasibleInstance(
            f"However n_select = {given.n_select} features are chosen, they are forbidden to "
            f"classes at least {least} times in all; budgets leave room for {most}."
        )


def _check_uses(given: Demanding) -> None:
    if given.classes_per_feature is None:
        return
    (least, most), total, m = given.uses, given.budgets.total, given.n_select
    if not least * m <= total <= most * m:
        raise InfeasibleInstance(
            f"{m} features that serve {least} to {most} classes each make {least * m} to "
            f"{most * m} assignments; the classes have {total}."
        )
    needed = Counter(d for _, d in given.required)
    for d, times in sorted(needed.items()):
        if times > most:
            raise InfeasibleInstance(
                f"Feature {d} is required of {times} classes, and may serve at most {most}."
            )


def _n_sets(given: Demanding, size: int) -> int:
    """Return how many sets of features, with signs where there are any, a class may have."""
    signs = sum(comb(size, j) for j in range(min(given.most_negative, size) + 1))
    return comb(given.n_select, size) * signs


def _check_sets(given: Demanding) -> None:
    """No two classes have the same set: there must be enough of them."""
    if not isinstance(given.budget, Average):
        for size, classes in sorted(Counter(given.budgets.least.tolist()).items()):
            if (n_sets := _n_sets(given, size)) < classes:
                raise InfeasibleInstance(
                    f"{given.n_select} features taken {size} at a time give {n_sets} distinct "
                    f"sets, fewer than the {classes} classes that have {size}."
                )
        return
    sizes = range(given.budget.least, (given.budget.most or given.n_select) + 1)
    n_classes, total = len(given.A), given.budgets.total
    if (n_sets := sum(_n_sets(given, size) for size in sizes)) < n_classes:
        raise InfeasibleInstance(
            f"{given.n_select} features taken {sizes[0]} to {sizes[-1]} at a time give {n_sets} "
            f"distinct sets, fewer than the {n_classes} classes."
        )
    ends = []
    for order in (sizes, reversed(sizes)):
        left, reached = n_classes, 0
        for size in order:
            taken = min(left, _n_sets(given, size))
            left, reached = left - taken, reached + size * taken
        ends.append(reached)
    if not ends[0] <= total <= ends[1]:
        raise InfeasibleInstance(
            f"{n_classes} distinct sets hold {ends[0]} to {ends[1]} features in all; budget asks "
            f"for {total}."
        )


def _check_required_sets(given: Demanding) -> None:
    """Classes of one budget that all require Q differ in what they have beside it."""
    if isinstance(given.budget, Average) or not given.required:
        return
    required: dict[int, set[int]] = {}
    for c, d in given.required:
        required.setdefault(c, set()).add(d)
    sizes = given.budgets.least.tolist()
    # What two classes both require may be required by many more.
    whole = {frozenset(features) for features in required.values()}
    shared = {one & other for one, other in combinations(whole, 2)}
    for wanted in sorted((whole | shared) - {frozenset()}, key=sorted):
        holders = Counter(sizes[c] for c, features in required.items() if wanted <= features)
        for size, classes in holders.items():
            rest = size - len(wanted)
            signs = sum(comb(rest, j) for j in range(min(given.most_negative, rest) + 1))
            n_sets = comb(given.n_select - len(wanted), rest) * signs
            if n_sets < classes:
                raise InfeasibleInstance(
                    f"{classes} classes with {size} features each require the features "
                    f"{', '.join(map(str, sorted(wanted)))}: there are only {n_sets} distinct sets "
                    "that contain them."
                )
