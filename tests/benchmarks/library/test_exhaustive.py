import numpy as np
import pytest
from hypothesis import given, settings

from benchmarks.errors import BenchmarkError
from benchmarks.library.exhaustive import enumerate_all, prove, simple_bound
from qpopt import Instance, Solution, generate, verify
from qpopt.problem.assignment import assign
from tests.brute_force import brute_force
from tests.strategies import instances


def some_solution(instance):
    selection = np.arange(instance.n_select)
    assignment = assign(instance.A, selection, instance.n_per_class)
    total = instance.objective(selection, assignment).total
    return Solution(selection, assignment, total, fingerprint=instance.fingerprint)


@given(drawn=instances(max_features=7, max_classes=4))
@settings(max_examples=40)
def test_enumeration_finds_what_brute_force_finds(drawn):
    instance = Instance(drawn.A, drawn.R, drawn.b, drawn.n_select, drawn.n_per_class)
    best = enumerate_all(instance, some_solution(instance))
    assert best.objective == pytest.approx(brute_force(instance).objective, rel=1e-9, abs=1e-9)
    assert best.bound == best.objective
    assert verify(instance, best)
    assert simple_bound(instance) >= best.objective - 1e-9


def test_a_planted_instance_is_proven_by_the_simple_bound():
    instance = generate(40, 12, 10, 3, structure="planted", seed=2)
    planted = np.array(instance.provenance["planted"])
    assignment = assign(instance.A, planted, 3)
    total = instance.objective(planted, assignment).total
    proven = prove(instance, Solution(planted, assignment, total, fingerprint=instance.fingerprint))
    assert proven.method == "simple bound"
    assert proven.bound == pytest.approx(total, rel=1e-12)


def test_what_is_too_large_is_refused():
    instance = generate(60, 12, 10, 3, seed=2)
    with pytest.raises(BenchmarkError, match="selections; enumeration takes at most"):
        prove(instance, some_solution(instance))
