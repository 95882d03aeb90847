from dataclasses import replace

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.library.curation import add_file, add_source, improve
from benchmarks.library.library import Library
from qpopt import Certificate, Instance, QpoptError, Solution, solve


@pytest.fixture
def second(toy, toy_best):
    """Return the second best solution of the toy, 12.8."""
    assignment = [[True, False, True], [False, True, True]]
    return replace(
        toy_best,
        selection=[0, 2, 3],
        assignment=assignment,
        objective=12.8,
        bound=13.5,
        status="feasible",
    )


@pytest.fixture
def unsolved(tmp_path, toy):
    """Return a library that knows nothing of the toy yet."""
    toy.save(tmp_path / "toy.npz")
    library = Library(tmp_path / "fresh")
    add_file(library, tmp_path / "toy.npz", name="toy", size="tiny")
    return library


def test_an_added_instance_is_there_and_open(unsolved, toy):
    entry = Library(unsolved.root).entry("toy")
    assert (entry.status, entry.objective, entry.n_select) == ("open", None, 3)
    assert unsolved.instance("toy") == toy
    assert unsolved.best("toy") is None


def test_the_same_name_or_instance_is_not_added_twice(unsolved, tmp_path, toy):
    with pytest.raises(BenchmarkError, match="already has this instance, as 'toy'"):
        add_file(unsolved, tmp_path / "toy.npz", name="twin", size="tiny")
    Instance(toy.A + 1, toy.R, toy.b, 3, 2).save(tmp_path / "other.npz")
    with pytest.raises(BenchmarkError, match="already has an instance 'toy'"):
        add_file(unsolved, tmp_path / "other.npz", name="toy", size="tiny")
    source = {"kind": "generate", "arguments": {}}
    with pytest.raises(BenchmarkError, match="already has an instance 'toy'"):
        add_source(unsolved, source, name="toy", size="tiny")


@pytest.mark.parametrize("name", ["", "../toy", "Toy", "a b"])
def test_names_that_make_bad_files_are_refused(unsolved, tmp_path, toy, name):
    Instance(toy.A + 1, toy.R, toy.b, 3, 2).save(tmp_path / "other.npz")
    with pytest.raises(BenchmarkError, match="is no name for an instance"):
        add_file(unsolved, tmp_path / "other.npz", name=name, size="tiny")


def test_a_generated_instance_is_made_again_bit_for_bit(unsolved):
    counts = {"n_features": 12, "n_classes": 5, "n_select": 4, "n_per_class": 2}
    source = {"kind": "generate", "arguments": {**counts, "structure": "uniform", "seed": 3}}
    entry = add_source(unsolved, source, name="made", size="medium")
    assert Library(unsolved.root).instance("made").fingerprint == entry.fingerprint


def test_objective_and_bound_improve_by_themselves(unsolved, second, toy_best):
    assert improve(unsolved, second) == "toy: objective 12.8 and bound 13.5 (open)"
    tighter = replace(second, bound=13.0, method="bounding")
    assert improve(unsolved, tighter) == "toy: bound 13.0 (open)"
    better = replace(toy_best, bound=None, status="feasible", method="searching")
    assert improve(unsolved, better).startswith("toy: objective 12.9")
    entry = Library(unsolved.root).entry("toy")
    assert (entry.found_by["method"], entry.bound_by["method"]) == ("searching", "bounding")
    assert (entry.objective, entry.bound, entry.status) == (pytest.approx(12.9), 13.0, "open")
    best = unsolved.best("toy")
    assert (best.selection.tolist(), best.bound) == ([1, 2, 3], 13.0)
    assert improve(unsolved, toy_best).endswith("(solved)")
    assert str(unsolved.best("toy").status) == "optimal"


def test_what_is_not_better_is_refused(library, second, toy_best):
    before = library.index.read_text()
    for solution in (second, toy_best, replace(toy_best, bound=20.0, status="feasible")):
        with pytest.raises(BenchmarkError, match="Nothing is better for toy"):
            improve(library, solution)
    assert library.index.read_text() == before


def test_wrong_solutions_are_refused(unsolved, toy_best):
    wrong = replace(toy_best, objective=99.0, bound=99.0)
    with pytest.raises(BenchmarkError, match="The solution of toy is wrong: objective"):
        improve(unsolved, wrong)
    with pytest.raises(BenchmarkError, match="is wrong"):
        improve(unsolved, Solution(None, None, None, "no_solution", fingerprint=wrong.fingerprint))
    with pytest.raises(BenchmarkError, match="no instance with the fingerprint"):
        improve(unsolved, replace(toy_best, fingerprint="0123"))


def test_a_bound_below_a_known_solution_is_refused(library, unsolved, second):
    with pytest.raises(BenchmarkError, match="one of the two is wrong"):
        improve(library, replace(second, bound=12.85))
    improve(unsolved, replace(second, bound=12.85))
    with pytest.raises(BenchmarkError, match="one of the two is wrong"):
        improve(unsolved, replace(library.best("toy"), bound=None, status="feasible"))


@pytest.fixture
def proven(tmp_path, toy):
    """Return a solution of the toy with the certificate of its bound."""
    path = tmp_path / "proof.npz"
    solution = solve(toy, gap=0.0, options={"certificate": path})
    return solution, Certificate.load(path)


def test_a_certificate_counts_and_not_what_is_claimed(unsolved, proven):
    solution, certificate = proven
    improve(unsolved, replace(solution, bound=50.0, status="feasible"), certificate)
    entry = Library(unsolved.root).entry("toy")
    assert entry.bound == pytest.approx(12.9, rel=1e-5)
    assert entry.certified


def test_a_certificate_proves_what_was_only_claimed(library, proven):
    solution, certificate = proven
    assert not library.entry("toy").certified
    assert improve(library, solution, certificate).startswith("toy: bound 12.9")
    assert Library(library.root).entry("toy").certified
    with pytest.raises(BenchmarkError, match="Nothing is better for toy"):
        improve(library, solution, certificate)


def test_a_certificate_of_another_instance_is_refused(unsolved, proven, toy):
    solution, _ = proven
    other = Instance(toy.A * 2.0, toy.R, toy.b, 3, 2)
    path = unsolved.root / "other.npz"
    solve(other, gap=0.0, options={"certificate": path})
    with pytest.raises(QpoptError):
        improve(unsolved, solution, Certificate.load(path))
    assert Library(unsolved.root).entry("toy").bound is None
