import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import generate
from qpopt.kernels.swap import swap
from qpopt.search.integer_instance import in_units
from qpopt.search.swap_state import new_state
from tests.awkward import awkward_instances
from tests.qpopt.kernels.rebuilt import assert_rebuilt


def make_random_swaps(problem, state, rng, n_swaps):
    work = np.empty(problem.A.shape[1], np.int32)
    for _ in range(n_swaps):
        outside = np.flatnonzero(~state.chosen)
        if len(outside) == 0:
            return
        swap(problem, state, int(rng.integers(len(state.selected))), rng.choice(outside), work)


def random_state(instance, rng):
    problem, unit = in_units(instance)
    selection = rng.choice(instance.n_features, instance.n_select, replace=False)
    return problem, unit, new_state(problem, selection)


@settings(max_examples=100)
@given(awkward_instances(max_features=10, max_classes=8), st.integers(0, 2**32 - 1))
def test_the_state_of_awkward_instances_does_not_drift(instance, seed):
    rng = np.random.default_rng(seed)
    problem, _, state = random_state(instance, rng)
    make_random_swaps(problem, state, rng, 100)
    assert_rebuilt(problem, state)


@settings(max_examples=3)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["attributes", "uniform"]))
def test_ten_thousand_swaps_leave_no_drift(seed, structure):
    rng = np.random.default_rng(seed)
    instance = generate(60, 25, 12, 3, structure=structure, seed=seed)
    problem, _, state = random_state(instance, rng)
    make_random_swaps(problem, state, rng, 10_000)
    assert_rebuilt(problem, state)


@given(awkward_instances(), st.integers(0, 2**32 - 1))
def test_the_total_is_the_objective_without_uniqueness(instance, seed):
    _, unit, state = random_state(instance, np.random.default_rng(seed))
    expected = instance.objective(state.selected).total
    assert state.total[0] * unit == pytest.approx(expected, abs=200 * unit)


@settings(max_examples=100)
@given(awkward_instances(), st.integers(0, 2**32 - 1))
def test_the_change_of_every_swap_is_foreseen(instance, seed):
    rng = np.random.default_rng(seed)
    problem, _, state = random_state(instance, rng)
    make_random_swaps(problem, state, rng, 3)
    for place, leaving in enumerate(state.selected):
        for entering in np.flatnonzero(~state.chosen):
            foreseen = (
                state.gain[entering].astype(int)
                - state.charge[entering]
                + problem.b[entering]
                + state.exchange[place, entering]
                - state.used[place]
                + state.charge[leaving]
                - problem.b[leaving]
            )
            swapped = state.selected.copy()
            swapped[place] = entering
            assert state.total[0] + foreseen == new_state(problem, swapped).total[0]
