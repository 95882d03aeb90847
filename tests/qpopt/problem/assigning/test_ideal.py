"""Idealised solutions: never worse, as many pairs, and the best of all that keep enough of them."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qpopt import InfeasibleInstance, Instance, InvalidArgument, generate, solve, verify
from tests.demanded import demanded


def pairs_of(sets):
    return {
        (c, e)
        for c, e in combinations(range(len(sets)), 2)
        if len(set(sets[c]) & set(sets[e])) == len(sets[c]) - 1 == len(sets[e]) - 1
        and set(sets[c]) != set(sets[e])
    }


def best_of_all(instance, selection, before, n_pairs):
    """Return the best similarity of distinct sets that keep so many pairs, by trying all."""
    sets = list(combinations(selection, instance.n_per_class))
    least, most = instance.classes_per_feature or (0, instance.n_classes)
    best = -np.inf
    for chosen in product(sets, repeat=instance.n_classes):
        uses = [sum(d in one for one in chosen) for d in selection]
        if (
            len(set(chosen)) == len(chosen)
            and all(d not in chosen[c] for c, d in instance.forbidden)
            and all(d in chosen[c] for c, d in instance.required)
            and least <= min(uses) <= max(uses) <= most
            and len(pairs_of(chosen) & before) >= n_pairs
        ):
            value = sum(instance.A[c, d] for c, one in enumerate(chosen) for d in one)
            best = max(best, value)
    return best


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=st.data())
def test_an_idealised_solution_is_the_best_that_keeps_enough_pairs(drawn):
    others = st.sampled_from([[], ["forbidden"], ["required"], ["classes_per_feature"]])
    arguments, named = drawn.draw(demanded(["pairs", *drawn.draw(others)], max_features=6))
    try:
        instance = Instance(*arguments, **named)
    except InfeasibleInstance:
        return
    plain = solve(instance, method="compact", solver="highs", threads=1)
    found = solve(instance, method="compact", solver="highs", threads=1, idealise=True)
    if not plain.found:
        assert found.status == "infeasible"
        assert found.fingerprint == instance.fingerprint
        return
    target = instance.with_demands(pairs=len(instance.pairs))
    assert verify(target, found)
    assert not verify(instance, found)
    assert (found.bound, found.details["idealised_from"]) == (None, plain.objective)
    before = pairs_of(plain.class_sets())
    selection = plain.selection.tolist()
    best = best_of_all(instance, selection, before, len(instance.pairs))
    similarity = instance.objective(found.selection, found.assignment).similarity
    assert found.selection.tolist() == selection
    assert similarity == pytest.approx(best)
    assert found.objective >= plain.objective - 1e-9
    assert found.details["pairs"] == len(pairs_of(found.class_sets()))


def test_a_dear_pair_gives_way_to_one_that_costs_nothing():
    """Classes 0 and 1 want nothing alike; 2 and 3 are a pair by themselves."""
    A = [[9.0, 8.0, 0.0, 0.0], [0.0, 0.0, 9.0, 8.0], [9.0, 0.0, 8.0, 0.0], [9.0, 0.0, 0.0, 8.0]]
    instance = Instance(A, np.zeros((4, 4)), np.zeros(4), 4, 2, pairs=[(0, 1)])
    found = solve(instance, idealise=True, time_limit=20)
    assert found.details["idealised_from"] == pytest.approx(17 + 9 + 17 + 17)
    assert found.objective == pytest.approx(4 * 17)
    assert (0, 1) not in pairs_of(found.class_sets())
    assert (2, 3) in pairs_of(found.class_sets())


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ({}, "it has none"),
        ({"pairs": 2}, "it has none"),
        ({"pairs": [(0, 1)], "max_shared": 1}, "together with max_shared"),
        ({"pairs": [(0, 1)], "budget": [2, 2, 3]}, "together with budget"),
    ],
)
def test_what_cannot_be_idealised_is_refused_before_any_work(demands, message):
    instance = generate(8, 3, 6, 2).with_demands(**demands)
    with pytest.raises(InvalidArgument, match=message):
        solve(instance, idealise=True, time_limit=0.0)
    with pytest.raises(InvalidArgument, match="idealise must be"):
        solve(instance, idealise=3)


def test_without_time_the_solution_is_what_it_was():
    instance = generate(12, 6, 5, 2).with_demands(rho=0.5)
    found = solve(instance, method="search", idealise=True, time_limit=0.0)
    assert verify(instance.with_demands(pairs=3), found)
    assert found.objective == pytest.approx(found.details["idealised_from"])
