"""Solutions in which chance decides in place of the optimisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt import Instance, InvalidArgument, Solution, solve


def chance_assignment(instance: Instance, seed: int = 0) -> Solution:
    """Return random features, and for every class random ones of these, no two classes alike.

    A model that is fine-tuned towards it shows what training alone does.

    Parameters
    ----------
    instance
        Gives the counts, and the features that must and must not be selected.
    seed
        Fixes the choice.

    Raises
    ------
    InvalidArgument
        If the instance states demands: what chance assigns does not meet them.
    """
    if instance.demands:
        raise InvalidArgument(
            f"A random assignment does not meet demands, and the instance states "
            f"{instance.demands}; leave them out."
        )
    chance = np.random.default_rng(seed)
    selection = _selection(instance, chance)
    assignment = np.zeros((instance.n_classes, len(selection)), dtype=bool)
    taken: set[bytes] = set()
    for row in assignment:
        while not row.any() or row.tobytes() in taken:
            row[:] = False
            row[chance.choice(len(row), instance.n_per_class, replace=False)] = True
        taken.add(row.tobytes())
    return _solution(instance, selection, assignment, "random assignment", seed)


def chance_selection(instance: Instance, seed: int = 0) -> Solution:
    """Return random features, and for every class the best of these.

    A model that is fine-tuned towards it shows what the choice of features adds.

    Parameters
    ----------
    instance, seed
        As in `chance_assignment`; the same seed gives the same features.
    """
    selection = _selection(instance, np.random.default_rng(seed))
    fixed = Instance(
        instance.A,
        instance.R,
        instance.b,
        instance.n_select,
        instance.n_per_class,
        include=selection.tolist(),
        **instance.demands.arguments(),
    )
    # Nothing is left to choose but the assignment, which every method finds at once.
    assignment = solve(fixed, method="search", seed=seed, progress=False).assignment
    assert assignment is not None
    return _solution(instance, selection, assignment, "random selection", seed)


def _selection(instance: Instance, chance: np.random.Generator) -> NDArray[np.int64]:
    """Return random features; those that are alike in all classes only where others run out."""
    fixed = {*instance.included, *instance.excluded}
    free = [d for d in chance.permutation(instance.n_features).tolist() if d not in fixed]
    free.sort(key=lambda d: not instance.A[:, d].any())
    chosen = [*instance.included, *free[: instance.n_select - len(instance.included)]]
    return np.array(sorted(chosen), dtype=np.int64)


def _solution(
    instance: Instance,
    selection: NDArray[np.int64],
    assignment: NDArray[Any],
    method: str,
    seed: int,
) -> Solution:
    return Solution(
        selection,
        assignment,
        instance.objective(selection, assignment).total,
        method=method,
        seed=seed,
        fingerprint=instance.fingerprint,
    )
