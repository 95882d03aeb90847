"""What counting refuses has no solution; what an instance is said to break, it breaks."""

import contextlib

import numpy as np
import pytest
from hypothesis import assume, given, settings

from qpopt import InfeasibleInstance, Instance, Solution, verify
from qpopt.problem.demands.fulfilment import misfit, unmet
from tests.demanded import KINDS, best_demanded, demanded, statement


def solution_of(instance, best):
    selection = np.array(best.selection)
    assignment = np.zeros((instance.n_classes, len(selection)), dtype=int)
    for c, signs in enumerate(best.signs):
        for d, sign in signs.items():
            assignment[c, best.selection.index(d)] = sign
    return Solution(selection, assignment, best.objective, fingerprint=instance.fingerprint)


@settings(max_examples=100, deadline=None)
@given(demanded())
def test_what_is_counted_out_has_no_solution(arguments):
    data, named = arguments
    try:
        instance = Instance(*data, **named)
    except InfeasibleInstance:
        assert best_demanded(statement(*data, **named)) is None
        return
    best = best_demanded(statement(*data, **named))
    assert (best is None) == (best_demanded(instance) is None)
    assume(best is not None)
    solution = solution_of(instance, best)
    outcome = verify(instance, solution)
    assert outcome, outcome
    assert misfit(instance, solution.selection) == ""
    assert unmet(instance, solution.selection, solution.assignment) == ""
    assert instance.objective(solution.selection, solution.assignment).total == pytest.approx(
        best.objective, abs=1e-9
    )


@settings(max_examples=60, deadline=None)
@given(demanded())
def test_two_checks_of_an_assignment_agree(arguments):
    """The one of methods and the one of `verify`, on the best solution with a class changed."""
    data, named = arguments
    try:
        instance = Instance(*data, **named)
    except InfeasibleInstance:
        assume(False)
    best = best_demanded(instance)
    assume(best is not None)
    rng = np.random.default_rng(int(instance.fingerprint[:8], 16))
    solution = solution_of(instance, best)
    selection = solution.selection
    for _ in range(20):
        assignment = solution.assignment.astype(np.int8)
        c = rng.integers(len(assignment))
        assignment[c] = rng.permutation(assignment[c])
        if instance.negative and rng.random() < 0.3:
            assignment[c] = -assignment[c]
        total = instance.objective(selection, assignment).total
        solution = Solution(selection, assignment, total, fingerprint=instance.fingerprint)
        wrong = misfit(instance, selection) or unmet(instance, selection, solution.assignment)
        assert bool(verify(instance, solution)) == (not wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn(kind):
    """The strategy above would prove nothing of a demand that it never states."""
    stated = {"n_pairs": "pairs=N", "average": "budget"}.get(kind, kind)

    @settings(max_examples=20, deadline=None, database=None)
    @given(demanded([kind]))
    def drawn(arguments):
        data, named = arguments
        with contextlib.suppress(InfeasibleInstance):
            found.update(Instance(*data, **named).demands.stated)

    found: set[str] = set()
    drawn()
    assert stated in found
