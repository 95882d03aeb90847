"""A smallest set of demands that cannot hold together, in words."""

import numpy as np

from qpopt import InfeasibleInstance, Instance, generate, solve
from qpopt.methods.conflict import _has_none as has_none
from qpopt.methods.conflict import conflict, smallest, wishes_of
from tests.demanded import best_demanded, statement

NAMES = ["owl", "crow", "wren"]


def clashing():
    """Return what fails as three classes have three sets: two of them would have the same."""
    demands = {
        "pairs": [(0, 1)],
        "required": [(0, 4), (2, 1)],
        "forbidden": [(1, 4), (2, 4), (0, 3)],
        "include": (2,),
    }
    return Instance(generate(6, 3, 3, 2).A, *_nothing(6), 3, 2, class_names=NAMES, **demands)


def _nothing(n):
    return [[0.0] * n] * n, [0.0] * n


def test_demands_that_have_a_sense_only_together():
    # The class of four features has all of them, and whoever has two shares both.
    instance = Instance(np.zeros((4, 6)), *_nothing(6), 4, 1, budget=[1, 1, 2, 4], max_shared=1)
    found = solve(instance, method="compact", time_limit=60)
    assert found.status == "infeasible"
    assert len(found.details["conflict"]) == 2
    # Without its budgets this one is refused, which does not say that it has no solution.
    instance = Instance(np.zeros((2, 4)), *_nothing(4), 3, 1, budget=[2, 2], negative=(2, 1.0))
    assert not has_none(instance, [], 1.0)


def test_words_name_a_smallest_set():
    instance = clashing()
    assert best_demanded(instance) is None
    found = solve(instance, method="compact", time_limit=60)
    assert found.status == "infeasible"
    words = found.details["conflict"]
    assert words == (
        "class 0 (owl) must use feature 4",
        "class 1 (crow) must not use feature 4",
        "class 2 (wren) must not use feature 4",
    )
    assert f"conflict   {words[0]}" in found.summary()


def test_none_of_a_smallest_set_can_be_spared():
    rng = np.random.default_rng(2)
    cells = [(c, d) for c in range(3) for d in range(4)]
    judged = 0
    while judged < 6:
        chosen = [cells[i] for i in rng.permutation(len(cells))[:6]]
        demands = {"forbidden": chosen[:4], "required": chosen[4:]}
        if rng.random() < 0.5:
            demands["classes_per_feature"] = (int(rng.integers(1, 3)), 2)
        try:
            instance = Instance(rng.normal(size=(3, 4)), *_nothing(4), 3, 2, **demands)
        except InfeasibleInstance:
            continue
        if best_demanded(instance) is not None:
            continue
        judged += 1
        words = conflict(instance, seconds=60)
        kept = [wish for wish in wishes_of(instance) if wish.words in words]
        assert not solvable(instance, kept)
        for wish in kept:
            assert solvable(instance, [other for other in kept if other != wish])


def solvable(instance, wishes):
    said = {name: [] for name in ("include", "exclude", "required", "forbidden", "pairs")}
    for wish in wishes:
        if isinstance(said.get(wish.name), list) and wish.value != instance.n_pairs:
            said[wish.name].append(wish.value)
        else:
            said[wish.name] = wish.value
    arrays = instance.A, instance.R, instance.b
    counts = instance.n_select, instance.n_per_class
    return (
        best_demanded(statement(*arrays, *counts, negative=instance.negative, **said)) is not None
    )


def test_halving_ends_with_single_ones():
    asked = []

    def fails(kept):
        asked.append(len(kept))
        return {3, 17} <= set(kept)

    assert smallest(range(40), fails) == [3, 17]
    assert len(asked) < 40
