from dataclasses import replace

import numpy as np
import pytest

from benchmarks.library import family
from benchmarks.library.curation import improve
from benchmarks.library.library import Library
from benchmarks.library.refresh import refresh
from qpopt import Instance, Solution, generate, verify
from qpopt.problem.assignment import assign


@pytest.fixture
def one_member(monkeypatch, library):
    """Cut the family down to one small shape, beside the toy, which is not of the family."""
    monkeypatch.setattr(family, "FAMILY", (("tiny", family.Counts(10, 4, 4, 2), (0.3,)),))
    monkeypatch.setattr(family, "STRUCTURES", ("uniform",))
    monkeypatch.setattr(family, "DEMANDING", ())
    monkeypatch.setattr(family, "_real", lambda library: iter(()))
    assert {entry.name for entry in family.build(library)} == {"uniform-10x4-r30", "planted-10x4"}
    return library


def test_solutions_are_carried_over_and_bounds_are_not(one_member, monkeypatch):
    name = "uniform-10x4-r30"
    before = one_member.instance(name)
    selection = np.array([1, 3, 5, 8])
    assignment = assign(before.A, selection, 2)
    total = before.objective(selection, assignment).total
    found = Solution(
        selection, assignment, total, bound=900.0, method="mine", fingerprint=before.fingerprint
    )
    improve(one_member, found)

    def changed(*arguments, **options):
        made = generate(*arguments, **options)
        return with_bias(made, made.b + 0.25)

    monkeypatch.setattr(family, "generate", changed)
    assert {entry.name for entry in refresh(one_member)} == {name, "planted-10x4"}
    again = Library(one_member.root)
    entry = again.entry(name)
    assert entry.objective == pytest.approx(total + 4 * 0.25)
    assert (entry.bound, entry.status, entry.found_by["method"]) == (None, "open", "mine")
    assert verify(again.instance(name), again.best(name))
    assert again.entry("toy").status == "solved"


def with_bias(instance, b):
    return Instance(
        instance.A,
        instance.R,
        b,
        instance.n_select,
        instance.n_per_class,
        name=instance.name,
        provenance=dict(instance.provenance),
    )


def test_nothing_changes_where_nothing_changed(one_member):
    before = Library(one_member.root).entries
    list(refresh(one_member))
    after = Library(one_member.root).entries
    assert {n: replace(e, bound=None, bound_by=None) for n, e in before.items() if n != "toy"} == {
        n: e for n, e in after.items() if n != "toy"
    }
