import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import Instance, generate
from qpopt.kernels.tabu import WIDEST_MARGIN, tabu_search
from qpopt.problem.assignment import assign
from qpopt.search.greedy import greedy
from qpopt.search.integer_instance import in_units
from qpopt.search.swap_state import new_state
from qpopt.search.tabu_memory import NEVER, new_auction, new_memory
from tests.awkward import awkward_instances
from tests.qpopt.kernels.rebuilt import assert_rebuilt


def start(instance, seed=1):
    problem, unit = in_units(instance)
    state = new_state(problem, greedy(instance, problem))
    memory = new_memory(instance.n_features, instance.n_select, seed)
    auction = new_auction(problem)
    return problem, unit, state, memory, auction


@settings(max_examples=100)
@given(awkward_instances(max_features=10, max_classes=3), st.integers(1, 2**62))
def test_what_it_keeps_is_feasible_and_worth_what_it_says(instance, seed):
    problem, unit, state, memory, auction = start(instance, seed)
    tabu_search(problem, state, memory, auction, 60, 1000)
    assert_rebuilt(problem, state)
    kept = [i for i in range(len(memory.kept)) if memory.kept[i] != NEVER]
    assert kept
    for i in kept:
        selection = memory.kept_selected[i]
        assert len(set(selection)) == instance.n_select
        assert set(instance.include) <= set(selection)
        assert not set(instance.exclude) & set(selection)
        assignment = assign(instance.A, selection, instance.n_per_class)
        objective = instance.objective(selection, assignment).total
        assert memory.kept[i] * unit <= objective + 200 * unit


def test_calls_of_any_length_make_the_same_steps():
    instance = generate(60, 20, 10, 3, seed=1)
    one, other = start(instance), start(instance)
    tabu_search(*one[:1], *one[2:], 200, 1000)
    for steps in (1, 19, 80, 100):
        tabu_search(*other[:1], *other[2:], steps, 1000)
    assert one[2].selected.tolist() == other[2].selected.tolist()
    assert one[3].best[0] == other[3].best[0]


def test_a_call_ends_early_where_a_step_takes_long():
    """Twelve equal classes bid for the same sets, so every step looks at many."""
    equal = np.repeat(np.random.default_rng(3).random((1, 20)), 12, axis=0)
    instance = Instance(equal, np.zeros((20, 20)), np.zeros(20), 8, 3)
    problem, _, state, memory, auction = start(instance)
    assert tabu_search(problem, state, memory, auction, 5, 1000) == 5
    assert auction.looked[0] > 1000
    hasty = memory._replace(params=memory.params._replace(most_looked=1))
    assert [tabu_search(problem, state, hasty, auction, 50, 1000) for _ in range(3)] == [1, 1, 1]
    assert_rebuilt(problem, state)


def test_it_ends_when_patience_does():
    problem, _, state, memory, auction = start(generate(60, 20, 10, 3, seed=1))
    made = tabu_search(problem, state, memory, auction, 100_000, 50)
    assert 50 <= made < 100_000
    assert tabu_search(problem, state, memory, auction, 10, 50) == 0


def test_the_first_step_makes_the_best_swap():
    instance = generate(12, 8, 5, 2, seed=3)
    problem, unit, state, memory, auction = start(instance)
    memory.margin[0] = WIDEST_MARGIN
    values = []
    for place in range(5):
        for entering in np.flatnonzero(~state.chosen):
            swapped = state.selected.copy()
            swapped[place] = entering
            assignment = assign(instance.A, swapped, 2)
            values.append(instance.objective(swapped, assignment).total)
    tabu_search(problem, state, memory, auction, 1, 10)
    reached = state.selected
    objective = instance.objective(reached, assign(instance.A, reached, 2)).total
    assert objective == pytest.approx(max(values), abs=1000 * unit)


def test_a_feature_that_left_does_not_return_at_once():
    problem, _, state, memory, auction = start(generate(60, 20, 10, 3, seed=1))
    memory.hold[:] = 1000
    left, entered = [], []
    for _ in range(9):
        before = set(state.selected.tolist())
        best = memory.best[0]
        tabu_search(problem, state, memory, auction, 1, 1000)
        if memory.best[0] > best:
            continue  # a new best may break the rule
        after = set(state.selected.tolist())
        assert not (after - before) & set(left)
        assert not (before - after) & set(entered)
        left += before - after
        entered += after - before
    assert left
