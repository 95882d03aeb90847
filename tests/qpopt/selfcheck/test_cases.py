"""What is bundled: the same as in the library of the benchmarks, and optimal."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.library.library import Library
from qpopt import InvalidArgument, generate, verify
from qpopt.problem.objective import best_assignment
from qpopt.selfcheck.cases import DATA, TELLING, bundled
from tests.brute_force import brute_force

LIBRARY = Library()
SHARED = [entry.name for entry in LIBRARY.select(["tiny", "small"])]
OWN = [name for name in TELLING if name not in SHARED]


def test_all_files_are_cases_and_small():
    assert sorted(path.name for path in DATA.iterdir()) == sorted(
        f"{name}.{kind}" for name in TELLING for kind in ("json", "npz")
    )
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 500_000
    assert [case.name for case in bundled()] == list(TELLING)
    assert [case.name for case in bundled(["uniform-12x6"])] == ["uniform-12x6"]
    with pytest.raises(InvalidArgument, match="no bundled instance 'nothing'; known are alike-8x3"):
        bundled(["uniform-12x6", "nothing"])


@pytest.mark.parametrize("name", SHARED)
def test_the_library_has_the_same(name):
    (case,) = bundled([name])
    entry = LIBRARY.entry(name)
    source = LIBRARY.root / "instances" / entry.source["path"]
    assert case.instance_file.read_bytes() == source.read_bytes()
    assert case.best_file.read_bytes() == LIBRARY.solution_file(name).read_bytes()
    assert entry.status == "solved"
    assert case.optimum == entry.objective
    assert verify(case.instance, case.best)


@pytest.mark.parametrize("name", OWN)
def test_the_others_are_optimal_by_brute_force(name):
    (case,) = bundled([name])
    assert case.optimum == pytest.approx(brute_force(case.instance).objective, rel=1e-12)
    assert case.best.bound == case.optimum
    assert verify(case.instance, case.best)


def test_the_others_are_what_they_are_made_for():
    alike, steered, negative, faint = (bundled([name])[0] for name in OWN)
    assert all(np.array_equal(one, other) for one, other in pairwise(alike.instance.A))
    assert len(set(alike.best.class_sets())) == alike.instance.n_classes
    free = brute_force(generate(12, 6, 5, 2, structure="uniform", seed=3)).selection
    assert set(steered.instance.exclude) <= set(free)
    assert not set(steered.instance.include) & set(free)
    assert negative.optimum < 0
    assert 0 < faint.optimum < 1e-6
    best = faint.best.selection
    relaxed = best_assignment(faint.instance.A, best, faint.instance.n_per_class)
    assert len(np.unique(relaxed, axis=0)) < len(relaxed), "uniqueness binds"
